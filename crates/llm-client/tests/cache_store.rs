//! The cache around models and stores of one's own.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use endpoint::{Endpoint, factory, request};
use llm_client::{
    Cache, CacheKey, CacheMode, CacheSettings, Cached, KeyMaker, ModelSettings, Price, ReplyStore,
    StoreError, StoredReply,
};
use schema::{
    ChatModel, ChatReply, ChatRequest, Exchange, FinishReason, JsonText, ModelError,
    ModelErrorKind, ModelId, Origin, ToolCall, Usage,
};

/// A model without HTTP. Every reply is another one.
#[derive(Debug)]
struct Own {
    id: ModelId,
    calls: Arc<AtomicU64>,
    /// Its wire form, which is not OpenAI's.
    wire: Option<&'static str>,
}

#[async_trait]
impl ChatModel for Own {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let call = self.calls.fetch_add(1, Relaxed);
        let exchange = self.wire.map(|wire| Exchange {
            request: JsonText::of(&serde_json::json!({})),
            response: JsonText::new(wire).unwrap(),
        });
        Ok(ChatReply {
            reasoning: Some("I think so.".to_owned()),
            tool_calls: vec![ToolCall {
                id: "1".to_owned(),
                name: "look".to_owned(),
                arguments: "{}".to_owned(),
            }],
            finish: FinishReason::ToolCalls,
            usage: Some(Usage {
                input_tokens: 1_000_000,
                ..Usage::default()
            }),
            cost: Some(0.25),
            model: Some("own-1".to_owned()),
            run_time: Duration::from_micros(1234),
            exchange: exchange.map(Arc::new),
            ..ChatReply::text(format!("own reply {call}"))
        })
    }
}

fn settings() -> ModelSettings {
    ModelSettings::new(ModelId::new("own").unwrap(), "own-model", "own://here")
}

fn own(cache: &Cache, calls: &Arc<AtomicU64>, wire: Option<&'static str>) -> Cached<Own> {
    let model = Own {
        id: ModelId::new("own").unwrap(),
        calls: Arc::clone(calls),
        wire,
    };
    Cached::new(model, cache.clone(), &settings())
}

#[tokio::test]
async fn a_model_of_ones_own_resumes_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Cache::open(folder.path().join("c.sqlite"), CacheSettings::default()).unwrap();
    for (row, wire) in [
        ("a", None),
        ("b", Some(r#"{"type": "message", "content": []}"#)),
    ] {
        let calls = Arc::default();
        let first = own(&open(), &calls, wire)
            .chat(&request(row))
            .await
            .unwrap();
        let cache = open();
        let again = own(&cache, &calls, wire).chat(&request(row)).await.unwrap();
        assert_eq!(calls.load(Relaxed), 1);
        assert_eq!(
            (first.origin, again.origin),
            (Origin::Fetched, Origin::Cached)
        );
        assert_eq!(again.content, first.content);
        assert_eq!(again.reasoning, first.reasoning);
        assert_eq!(again.tool_calls, first.tool_calls);
        assert_eq!(again.finish, first.finish);
        assert_eq!((again.usage, again.cost), (first.usage, first.cost));
        assert_eq!((again.model, again.run_time), (first.model, first.run_time));
        assert!(again.exchange.is_none());
        assert_eq!((cache.stats().hits, cache.stats().damaged), (1, 0));
    }
}

#[tokio::test]
async fn a_price_counts_for_a_model_of_ones_own_too() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("c.sqlite"), CacheSettings::default()).unwrap();
    let calls = Arc::default();
    own(&cache, &calls, None).chat(&request("a")).await.unwrap();
    let mut priced = settings();
    priced.price = Some(Price {
        input: 3.0,
        output: 1.0,
        cached_input: None,
        cache_write: None,
    });
    let model = own(&cache, &calls, None);
    let model = Cached::new(model, cache.clone(), &priced);
    let reply = model.chat(&request("a")).await.unwrap();
    assert_eq!((reply.origin, reply.cost), (Origin::Cached, Some(3.0)));
}

/// What a store of one's own does next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Does {
    #[default]
    Work,
    FailToGet,
    FailToPut,
    FindDamage,
}

#[derive(Debug, Default)]
struct Memory {
    replies: Mutex<HashMap<CacheKey, StoredReply>>,
    does: Mutex<Does>,
}

#[async_trait]
impl ReplyStore for Memory {
    async fn get(&self, key: &CacheKey) -> Result<Option<StoredReply>, StoreError> {
        match *self.does.lock().unwrap() {
            Does::FailToGet => Err(StoreError::Failed("the shelf is locked".into())),
            Does::FindDamage => Err(StoreError::Damaged),
            _ => Ok(self.replies.lock().unwrap().get(key).cloned()),
        }
    }

    async fn put(&self, key: &CacheKey, reply: &StoredReply) -> Result<(), StoreError> {
        if *self.does.lock().unwrap() == Does::FailToPut {
            return Err(StoreError::Failed("the shelf is full".into()));
        }
        self.replies.lock().unwrap().insert(*key, reply.clone());
        Ok(())
    }
}

#[tokio::test]
async fn a_store_of_ones_own_keeps_the_replies_and_the_rules_hold() {
    let endpoint = Endpoint::numbered().await;
    let store = Arc::new(Memory::default());
    let cache = |settings| Cache::new(Arc::clone(&store) as Arc<dyn ReplyStore>, settings);
    let say = async |cache: &Cache, row: &str| {
        let factory = factory().with_cache(cache.clone());
        let model = factory.model(endpoint.settings()).unwrap();
        model.chat(&request(row)).await.map(|reply| reply.content)
    };
    let plain = cache(CacheSettings::default());
    assert_eq!(say(&plain, "a").await.unwrap(), "reply 0");
    assert_eq!(say(&plain, "a").await.unwrap(), "reply 0");
    let key = KeyMaker::new(&endpoint.settings()).key(&request("a"));
    let stored = store.replies.lock().unwrap().get(&key).cloned().unwrap();
    assert_eq!(stored.body.unwrap().content, "reply 0");
    assert!(stored.wire.unwrap().get().contains("reply 0"));
    assert_eq!(stored.model.as_deref(), Some("wire"));
    assert_eq!(stored.endpoint.as_deref(), Some("test"));

    let refresh = cache(CacheSettings {
        mode: CacheMode::Refresh,
        ..CacheSettings::default()
    });
    assert_eq!(say(&refresh, "a").await.unwrap(), "reply 1");
    assert_eq!(say(&refresh, "a").await.unwrap(), "reply 1");

    let set = |does| *store.does.lock().unwrap() = does;
    set(Does::FailToGet);
    let error = say(&plain, "a").await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert!(
        error
            .to_string()
            .contains("the shelf is locked (model my-model)"),
        "{error}"
    );
    set(Does::FindDamage);
    assert_eq!(say(&plain, "a").await.unwrap(), "reply 2");
    set(Does::FailToPut);
    assert_eq!(say(&plain, "b").await.unwrap(), "reply 3");
    let stats = plain.stats();
    assert_eq!((stats.stored, stats.not_stored, stats.damaged), (2, 1, 1));
    assert_eq!(plain.trouble().unwrap(), "the shelf is full");
}

#[tokio::test]
async fn wire_text_that_cannot_be_read_any_more_costs_nothing() {
    let endpoint = Endpoint::numbered().await;
    let store = Arc::new(Memory::default());
    let cache = Cache::new(Arc::clone(&store) as _, CacheSettings::default());
    let factory = factory().with_cache(cache);
    let model = factory.model(endpoint.settings()).unwrap();
    model.chat(&request("a")).await.unwrap();
    for reply in store.replies.lock().unwrap().values_mut() {
        reply.wire = Some(JsonText::new(r#"{"choices": 1}"#).unwrap());
    }
    let reply = model.chat(&request("a")).await.unwrap();
    assert_eq!((reply.content.as_str(), endpoint.calls()), ("reply 0", 1));
    for reply in store.replies.lock().unwrap().values_mut() {
        reply.body = None;
    }
    let reply = model.chat(&request("a")).await.unwrap();
    assert_eq!((reply.content.as_str(), endpoint.calls()), ("reply 1", 2));
}
