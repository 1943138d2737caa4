//! What is sent for a provider's prompt cache is in the journal as it was sent, and in no cache key.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod common;
mod endpoint;

use std::sync::Arc;

use common::{Act, Record, Server, model};
use endpoint::{Endpoint, completion, factory, request};
use llm_client::{
    Api, Cache, CacheSettings, HttpClient, KeyMaker, ModelSettings, NativeModel, OpenAi,
};
use schema::{ChatModel, ChatRequest, EventKind, Message, Origin, RepeatedPrefix, Role};
use serde_json::{Value, json};

/// A request of a conversation with a system prompt of 2,000 tokens, all of whose messages another one has too.
fn in_conversation() -> ChatRequest {
    let system = Message::new(Role::System, "Stay calm. ".repeat(800));
    let mut request = request("row");
    request.messages.insert(0, system);
    request.repeated = RepeatedPrefix {
        messages: 2,
        in_conversation: true,
    };
    request
}

fn message(text: &str) -> String {
    json!({"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5}})
    .to_string()
}

fn with_wire(mut settings: ModelSettings, api: Api) -> ModelSettings {
    let wire = NativeModel::new(api, &settings, HttpClient::default()).unwrap();
    settings.wire = Some(Arc::new(wire));
    settings
}

#[test]
fn no_key_of_a_reply_depends_on_it() {
    let plain = ChatRequest {
        repeated: RepeatedPrefix::default(),
        ..in_conversation()
    };
    for api in [None, Some(Api::Messages), Some(Api::Responses)] {
        let keys = [None, Some(true), Some(false)].map(|prompt_caching| {
            let settings = ModelSettings {
                prompt_caching,
                ..endpoint::settings("https://api.openai.com/v1")
            };
            let settings = match api {
                Some(api) => with_wire(settings, api),
                None => settings,
            };
            let maker = KeyMaker::new(&settings);
            (maker.key(&in_conversation()), maker.key(&plain))
        });
        let (first, _) = keys[0];
        assert!(
            keys.iter().all(|keys| *keys == (first, first)),
            "{api:?}: {keys:?}"
        );
    }
}

/// A reply that was fetched with marks is found by a run that sends none, and the other way round.
#[tokio::test]
async fn stored_replies_are_found_with_and_without_marks() {
    for (api, body) in [
        (None, completion("said", 10, 5)),
        (Some(Api::Messages), message("said")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replies.sqlite");
        let endpoint = Endpoint::start(move |_, _| (200, body.clone())).await;
        let ask = async |prompt_caching| {
            let cache = Cache::open(path.clone(), CacheSettings::default()).unwrap();
            let settings = ModelSettings {
                prompt_caching: Some(prompt_caching),
                ..endpoint.settings()
            };
            let settings = match api {
                Some(api) => with_wire(settings, api),
                None => settings,
            };
            let model = factory().with_cache(cache).model(settings).unwrap();
            model.chat(&in_conversation()).await.unwrap()
        };
        let fetched = ask(true).await;
        assert_eq!(fetched.origin, Origin::Fetched);
        let cached = ask(false).await;
        assert_eq!((cached.origin, endpoint.calls()), (Origin::Cached, 1));
        assert_eq!(cached.content, fetched.content);
        // What is recorded of the fetched reply is what was sent.
        let exchange = fetched.exchange.unwrap();
        assert_eq!(exchange.request.get(), endpoint.bodies()[0]);
        let sent: Value = serde_json::from_str(exchange.request.get()).unwrap();
        match api {
            None => assert!(sent["prompt_cache_key"].is_string(), "{sent}"),
            Some(_) => {
                let mark = json!({"type": "ephemeral"});
                assert_eq!(sent["system"][0]["cache_control"], mark);
                assert_eq!(sent["messages"][0]["content"][0]["cache_control"], mark);
            }
        }
    }
}

#[tokio::test]
async fn without_it_the_bodies_are_what_they_were() {
    let endpoint = Endpoint::start(|_, body| match body.contains("max_tokens") {
        true => (200, message("said")),
        false => (200, completion("said", 10, 5)),
    })
    .await;
    let off = ModelSettings {
        prompt_caching: Some(false),
        ..endpoint.settings()
    };
    // An unknown server gets no field that it may not know.
    for settings in [
        with_wire(off.clone(), Api::Messages),
        off,
        endpoint.settings(),
    ] {
        let model = factory().model(settings).unwrap();
        model.chat(&in_conversation()).await.unwrap();
    }
    for body in endpoint.bodies() {
        assert!(!body.contains("cache"), "{body}");
    }
}

/// Azure's older versions do not know the field.
#[tokio::test]
async fn an_endpoint_that_refuses_the_field_gets_the_request_without_it() {
    let server = Server::start(|_, got| match got.body.get("prompt_cache_key") {
        Some(_) => {
            let message = "Unrecognized request argument supplied: prompt_cache_key";
            Act::json(400, json!({"error": {"message": message}}))
        }
        None => Act::say("said"),
    })
    .await;
    let journal = Arc::new(Record::default());
    let mut settings = server.settings();
    settings.prompt_caching = Some(true);
    let model: OpenAi = model(settings).with_journal(Arc::<Record>::clone(&journal));
    for _ in 0..2 {
        let reply = model.chat(&in_conversation()).await.unwrap();
        assert_eq!(reply.content, "said");
    }
    assert_eq!(server.count(), 3);
    let changes = journal.events(EventKind::RequestFormChanged);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["change"], "prompt_cache_key left out");
}
