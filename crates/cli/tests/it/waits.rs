//! A target that does not answer: who is waited for is said, and after a while its rows fail at once.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::sync::Arc;

use common::{Project, Ran};
use schema::EventKind;
use scripted_llm::{Fault, ScriptedServer};
use serde_json::Value;

async fn run(project: &Arc<Project>, args: &'static [&str]) -> Ran {
    let project = Arc::clone(project);
    tokio::task::spawn_blocking(move || project.run(args))
        .await
        .unwrap()
}

fn rows(project: &Project) -> Vec<Value> {
    let text = project.read("benchmarks/flattery/runs/careful/conversations.json");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_answers_nothing_is_waited_for_and_then_given_up() {
    let down: Fault = "503; retry-after=6; body=no upstream; model=scripted-careful"
        .parse()
        .unwrap();
    let server = ScriptedServer::builder().fault(down).start().await.unwrap();
    let project = Arc::new(Project::new());
    project.served_by(
        &server,
        "retries: {max_attempts: 100, circuit_breaker: 5s}\n",
    );
    let ran = run(&project, &["run", "flattery"]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for words in [
        "waiting for scripted-careful, next attempt in",
        "status 503: no upstream",
        "circuit breaker opened: the remaining calls fail at once",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    // Three conversations at once made two attempts each; the others made none.
    let failed = rows(&project);
    assert!(failed.len() > 3);
    for row in &failed {
        let error = row["error"].as_str().unwrap();
        assert!(error.contains("circuit breaker is open"), "{error}");
    }
    let asked = server.stats().by_model["scripted-careful"];
    assert!((4..=6).contains(&asked), "{asked} attempts");
    let check = run(&project, &["journal", "check", "flattery"]).await;
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    const OPENED: &str = EventKind::CircuitBreakerOpened.message();
    let shown = run(&project, &["journal", "show", "--message", OPENED]).await;
    assert!(shown.out.contains("scripted-careful"), "{}", shown.out);

    server.set_faults([]);
    let ran = run(&project, &["run", "flattery"]).await;
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(
        rows(&project)
            .iter()
            .all(|row| row.get("error").is_none_or(Value::is_null))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_of_time_for_the_circuit_breaker_is_read_and_recorded() {
    let project = Project::new();
    project.write("config.yaml", "retries: {circuit_breaker: soon}\n");
    let ran = project.run(&["plan", "--scripted"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("retries.circuit_breaker") && ran.err.contains("length of time"),
        "{}",
        ran.err
    );
}
