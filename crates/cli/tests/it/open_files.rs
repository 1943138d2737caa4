//! A process that may open few files: the run makes do with fewer connections, or says at once how many files it needs.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::sync::Arc;

use common::{Project, Ran};
use scripted_llm::ScriptedServer;

const MANY: [&str; 4] = ["run", "--quiet", "--concurrency", "300"];

/// Runs the command where no more than `files` may be open. `soft`: it may raise the limit itself.
fn limited(project: &Project, files: u32, soft: bool, args: &[&str]) -> Ran {
    let script = match soft {
        true => r#"ulimit -S -n "$0" && exec "$@""#,
        false => r#"ulimit -n "$0" && exec "$@""#,
    };
    Ran::of(project.launched(&["sh", "-c", script, &files.to_string()], args))
}

#[test]
fn with_few_files_the_same_tree_is_written() {
    let project = Project::new();
    project.succeeds(&MANY);
    let wanted = tree::read(&project.path("benchmarks"));
    for (files, soft) in [(64, false), (48, false), (40, true)] {
        let project = Project::new();
        let ran = limited(&project, files, soft, &MANY);
        assert_eq!(ran.code, 0, "{files}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.contains("ulimit -n"), !soft, "{files}: {}", ran.err);
        assert!(!ran.err.contains("os error 24"), "{files}: {}", ran.err);
        let tree = tree::read(&project.path("benchmarks"));
        tree::assert_same(&tree, &wanted);
    }
}

#[test]
fn with_too_few_files_nothing_is_called_and_the_limit_is_named() {
    for files in [30, 24, 18] {
        let project = Project::new();
        let ran = limited(&project, files, false, &MANY);
        assert_eq!(ran.code, 3, "{files}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("ulimit -n 1024"), "{files}: {}", ran.err);
        assert!(
            ran.err.contains(&format!("{files} ")),
            "{files}: {}",
            ran.err
        );
        let scored = project.path("benchmarks/sycophancy/results.json");
        assert!(!scored.exists(), "{files}");
        project.succeeds(&["run", "--quiet"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_with_many_calls_in_flight_loses_no_row() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "retries: {max_attempts: 1}\n");
    let project = Arc::new(project);
    let work = Arc::clone(&project);
    let args = ["run", "--concurrency", "200", "flattery"];
    let ran = tokio::task::spawn_blocking(move || limited(&work, 40, false, &args))
        .await
        .unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(project.path("benchmarks/flattery/results.json").exists());
}
