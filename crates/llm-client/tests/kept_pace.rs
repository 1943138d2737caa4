//! The pace that a run learned is the pace of the next one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod common;
mod paced_run;

use std::{path::Path, time::Duration};

use llm_client::Api;
use paced_run::{limited, run};
use rusqlite::Connection;
use serde_json::Value;

const KEY: &str = "sk-this-is-secret";
const CHAT: Api = Api::ChatCompletions;

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
    let server = limited("20").await;
    let (_, refused, paces) = run(&server, Some(&path), (KEY, CHAT), Duration::from_secs(3)).await;
    assert!(refused > 5, "{refused}");
    assert_eq!(paces[0]["reason"], "rate limited");
    assert_eq!(kept(&path), 1);
    let bytes = std::fs::read(&path).unwrap();
    let has_key = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    assert!(!has_key, "the key is in the file");

    println!("{refused} refused at first");
    let (answered, refused, paces) =
        run(&server, Some(&path), (KEY, CHAT), Duration::from_secs(3)).await;
    println!("{refused} refused of {}", answered + refused);
    assert!(answered >= 40, "{answered}");
    assert!(refused <= 3, "{refused} refused, {answered} answered");
    assert_eq!(paces[0]["before"], Value::Null);
    assert_eq!(paces[0]["reason"], "learned by an earlier run");
    let rate = paces[0]["rate"].as_f64().unwrap();
    assert!((15.0..21.0).contains(&rate), "{rate}");

    // Another key is another endpoint, and so is each without a cache.
    for (cache, key) in [(Some(&*path), "another"), (None, KEY)] {
        let (_, refused, paces) = run(&server, cache, (key, CHAT), Duration::from_secs(1)).await;
        assert!(refused > 5, "{refused}");
        assert_eq!(paces[0]["reason"], "rate limited");
    }
}

#[tokio::test]
async fn a_damaged_pace_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.sqlite");
    let server = limited("20").await;
    run(&server, Some(&path), (KEY, CHAT), Duration::from_secs(2)).await;
    for damage in [
        "UPDATE paces SET rate = 1.0",
        "UPDATE paces SET checksum = 0",
        "DROP TABLE paces; CREATE TABLE paces (a TEXT)",
        "DROP TABLE paces",
    ] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let (answered, _, paces) = run(
            &server,
            Some(&path),
            (KEY, CHAT),
            Duration::from_millis(300),
        )
        .await;
        assert!(answered > 0);
        let is_kept = |pace: &Value| pace["reason"] == "learned by an earlier run";
        assert!(!paces.iter().any(is_kept), "{damage}: {paces:?}");
    }
}
