//! A run of many rows at a scripted server with a limit, over HTTP.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use llm_client::{
    Api, Cache, CacheSettings, ModelFactory, ModelSettings, NativeModel, RetryPolicy,
};
use schema::{CallContext, ChatModel, ChatRequest, EventKind, Message, ModelId, Purpose, Role};
use scripted_llm::{ScriptedServer, Stats};
use serde_json::Value;

use crate::common::{Record, http};

/// A server with this limit.
pub async fn limited(limit: &str) -> ScriptedServer {
    let limit = limit.parse().unwrap();
    let server = ScriptedServer::builder().limit(limit).start().await;
    server.unwrap()
}

/// What a run of `time` with 30 rows at `server` was answered and refused, and the paces in its journal.
pub async fn run(
    server: &ScriptedServer,
    cache: Option<&Path>,
    (key, api): (&str, Api),
    time: Duration,
) -> (u64, u64, Vec<Value>) {
    let before = server.stats();
    let record = Arc::new(Record::default());
    let retries = RetryPolicy {
        base_delay: Duration::from_millis(100),
        max_delay: Duration::from_millis(300),
        ..RetryPolicy::default()
    };
    let mut factory = ModelFactory::new(http())
        .with_journal(Arc::<Record>::clone(&record))
        .with_retries(retries);
    if let Some(path) = cache {
        factory = factory.with_cache(Cache::open(path, CacheSettings::default()).unwrap());
    }
    let id = ModelId::new("careful").unwrap();
    let mut settings = ModelSettings::new(id, "scripted-careful", server.base_url());
    settings.api_key = Some(key.into());
    if api != Api::ChatCompletions {
        let native = NativeModel::new(api, &settings, http()).unwrap();
        settings.wire = Some(Arc::new(native));
    }
    let model = factory.model(settings).unwrap();
    let until = Instant::now() + time;
    let rows = (0..30).map(|row| ask_until(&*model, row, until));
    join_all(rows).await;
    drop((model, factory));
    let Stats {
        answered, faults, ..
    } = server.stats();
    (
        answered - before.answered,
        faults - before.faults,
        record.events(EventKind::PaceChanged),
    )
}

async fn ask_until(model: &dyn ChatModel, row: usize, until: Instant) {
    for n in 0.. {
        if Instant::now() >= until {
            return;
        }
        // No two runs ask the same, so that no reply comes from the cache.
        let row = format!("{row}-{n}-{until:?}");
        let context = CallContext::new(Purpose::TargetTurn, row);
        let hello = Message::new(Role::User, "hello");
        let request = ChatRequest::new(vec![hello], context);
        model.chat(&request).await.unwrap();
    }
}
