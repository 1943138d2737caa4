//! The pace that a run learned is the pace of the next one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Record, http};
use futures::future::join_all;
use llm_client::{Cache, CacheSettings, ModelFactory, ModelSettings, RetryPolicy};
use rusqlite::Connection;
use schema::{CallContext, ChatModel, ChatRequest, EventKind, Message, ModelId, Purpose, Role};
use scripted_llm::{ScriptedServer, Stats};
use serde_json::Value;

const KEY: &str = "sk-this-is-secret";

async fn server() -> ScriptedServer {
    let limit = "20".parse().unwrap();
    let server = ScriptedServer::builder().limit(limit).start().await;
    server.unwrap()
}

/// What a run of `time` with 30 rows at `server` was answered and refused, and the paces in its journal.
async fn run(
    server: &ScriptedServer,
    cache: Option<&Path>,
    key: &str,
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

/// How many paces the file has.
fn kept(path: &Path) -> i64 {
    let connection = Connection::open(path).unwrap();
    let count = connection.query_row("SELECT count(*) FROM paces", [], |row| row.get(0));
    count.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_is_refused_next_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.sqlite");
    let server = server().await;
    let (_, refused, paces) = run(&server, Some(&path), KEY, Duration::from_secs(3)).await;
    assert!(refused > 5, "{refused}");
    assert_eq!(paces[0]["reason"], "rate limited");
    assert_eq!(kept(&path), 1);
    let bytes = std::fs::read(&path).unwrap();
    let has_key = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    assert!(!has_key, "the key is in the file");

    println!("{refused} refused at first");
    let (answered, refused, paces) = run(&server, Some(&path), KEY, Duration::from_secs(3)).await;
    println!("{refused} refused of {}", answered + refused);
    assert!(answered >= 40, "{answered}");
    assert!(refused <= 3, "{refused} refused, {answered} answered");
    assert_eq!(paces[0]["before"], Value::Null);
    assert_eq!(paces[0]["reason"], "learned by an earlier run");
    let rate = paces[0]["rate"].as_f64().unwrap();
    assert!((15.0..21.0).contains(&rate), "{rate}");

    // Another key is another endpoint, and so is each without a cache.
    for (cache, key) in [(Some(&*path), "another"), (None, KEY)] {
        let (_, refused, paces) = run(&server, cache, key, Duration::from_secs(1)).await;
        assert!(refused > 5, "{refused}");
        assert_eq!(paces[0]["reason"], "rate limited");
    }
}

#[tokio::test]
async fn a_damaged_pace_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.sqlite");
    let server = server().await;
    run(&server, Some(&path), KEY, Duration::from_secs(2)).await;
    for damage in [
        "UPDATE paces SET rate = 1.0",
        "UPDATE paces SET checksum = 0",
        "DROP TABLE paces; CREATE TABLE paces (a TEXT)",
        "DROP TABLE paces",
    ] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let (answered, _, paces) = run(&server, Some(&path), KEY, Duration::from_millis(300)).await;
        assert!(answered > 0);
        let is_kept = |pace: &Value| pace["reason"] == "learned by an earlier run";
        assert!(!paces.iter().any(is_kept), "{damage}: {paces:?}");
    }
}
