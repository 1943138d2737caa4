//! A target whose key is refused: its rows fail, and no simulated user is paid to talk to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use common::Project;
use scripted_llm::{Fault, ScriptedServer, Task};

const ROWS: usize = 12;

/// One row at a time, so that it is certain which rows come after the refusal.
fn project(server: &ScriptedServer) -> Project {
    let project = Project::new()
        .env("PROBITY_GENERATION__TURNS", "2")
        .env("PROBITY_RUN__CONCURRENCY__SIMULATE", "1");
    project.served_by(server, "");
    project.flattery(ROWS);
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_401_no_row_pays_for_its_simulated_user() {
    let fault: Fault = "401; model=scripted-careful".parse().unwrap();
    let server = ScriptedServer::builder()
        .fault(fault)
        .start()
        .await
        .unwrap();
    let project = project(&server);
    let ran = project.run(&["simulate", "flattery", "--target", "careful"]);
    assert_ne!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("401 Unauthorized"), "{}", ran.err);
    let user_calls = server.stats().by_task[Task::UserTurn.as_str()];
    assert_eq!(user_calls, 1, "{}", ran.err);
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&project.read("benchmarks/flattery/runs/careful/conversations.json"))
            .unwrap();
    assert_eq!(rows.len(), ROWS);
    for row in &rows {
        let error = row["error"].as_str().unwrap();
        assert!(error.contains("401 Unauthorized"), "{error}");
        assert_eq!(row["_no_verdict"], "call_failed", "{row}");
    }

    server.set_faults([]);
    let ran = project.run(&["simulate", "flattery", "--target", "careful"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}
