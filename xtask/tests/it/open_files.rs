//! A process that may open few files: the run makes do with fewer connections, or says at once how many files it needs.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;
use crate::tree;

use std::sync::Arc;

use common::{Ground, Ran};
use scripted_llm::ScriptedServer;

const MANY: [&str; 4] = ["run", "--quiet", "--concurrency", "300"];

/// Runs the command where no more than `files` may be open. `soft`: it may raise the limit itself.
fn limited(ground: &Ground, files: u32, soft: bool, args: &[&str]) -> Ran {
    let script = match soft {
        true => r#"ulimit -S -n "$0" && exec "$@""#,
        false => r#"ulimit -n "$0" && exec "$@""#,
    };
    Ran::of(ground.launched(&["sh", "-c", script, &files.to_string()], args))
}

#[test]
fn with_few_files_the_same_tree_is_written() {
    let ground = Ground::new();
    ground.succeeds(&MANY);
    let wanted = tree::read(&ground.path("benchmarks"));
    for (files, soft) in [(64, false), (48, false), (40, true)] {
        let ground = Ground::new();
        let ran = limited(&ground, files, soft, &MANY);
        assert_eq!(ran.code, 0, "{files}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.contains("ulimit -n"), !soft, "{files}: {}", ran.err);
        assert!(!ran.err.contains("os error 24"), "{files}: {}", ran.err);
        let tree = tree::read(&ground.path("benchmarks"));
        tree::assert_same(&tree, &wanted);
    }
}

#[test]
fn with_too_few_files_nothing_is_called_and_the_limit_is_named() {
    for files in [30, 24, 18] {
        let ground = Ground::new();
        let ran = limited(&ground, files, false, &MANY);
        assert_eq!(ran.code, 3, "{files}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("ulimit -n 1024"), "{files}: {}", ran.err);
        assert!(
            ran.err.contains(&format!("{files} ")),
            "{files}: {}",
            ran.err
        );
        let scored = ground.path("benchmarks/sycophancy/results.json");
        assert!(!scored.exists(), "{files}");
        ground.succeeds(&["run", "--quiet"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_with_many_calls_in_flight_loses_no_row() {
    let server = ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "retries: {max_attempts: 1}\n");
    let ground = Arc::new(ground);
    let work = Arc::clone(&ground);
    let args = ["run", "--concurrency", "200", "flattery"];
    let ran = tokio::task::spawn_blocking(move || limited(&work, 40, false, &args))
        .await
        .unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ground.path("benchmarks/flattery/results.json").exists());
}
