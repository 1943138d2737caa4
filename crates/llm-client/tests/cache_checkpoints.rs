//! The write-ahead log of the cache is moved into its file beside the writing: a reply does not wait for the disk.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    fs,
    time::{Duration, Instant},
};

use endpoint::{request, stored_reply};
use llm_client::{KeyMaker, ModelSettings, ReplyStore, SqliteStore};
use schema::ModelId;

/// Whether this process has a thread whose name begins so. The system keeps 15 characters of it.
#[cfg(target_os = "linux")]
fn has_thread(name: &str) -> bool {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.flatten().map(|task| {
        let name = fs::read_to_string(task.path().join("comm"));
        name.unwrap_or_default()
    });
    names.into_iter().any(|found| found.starts_with(name))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thread_of_its_own_moves_the_log_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.sqlite");
    let settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", "http://127.0.0.1:9/v1");
    let keys = KeyMaker::new(&settings);
    let store = SqliteStore::open(&path, None).unwrap();
    // A thread takes its name after it has started.
    let start = Instant::now();
    while !has_thread("cache-checkpoi") {
        assert!(start.elapsed() < Duration::from_secs(60), "no thread");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let text = "x".repeat(20_000);
    // 24 MB, and a checkpoint is due after 16.
    for row in 0..1200 {
        let key = keys.key(&request(&row.to_string()));
        store
            .put(&key, &stored_reply(format!("{row} {text}")))
            .await
            .unwrap();
    }
    let start = Instant::now();
    // Nothing is in the file itself before: all of it is in the log.
    while fs::metadata(&path).unwrap().len() < 8 << 20 {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(store.count().unwrap(), 1200);
    drop(store);
    assert!(!has_thread("cache-checkpoi"));
    let store = SqliteStore::open(&path, None).unwrap();
    for row in [0, 600, 1199] {
        let found = store.get(&keys.key(&request(&row.to_string()))).await;
        let content = found.unwrap().unwrap().body.unwrap().content;
        assert!(content.starts_with(&format!("{row} x")));
    }
}
