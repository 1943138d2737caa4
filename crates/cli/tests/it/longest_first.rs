//! Long conversations begin first, and the files have their order all the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;
use schema::EventKind;
use scripted_llm::ScriptedServer;
use serde_json::{Value, json};

/// A benchmark whose scenarios have these numbers of turns.
fn scenarios(project: &Project, turns: &[usize]) {
    project.flattery(0);
    let row = |(n, turns): (usize, &usize)| {
        json!({
            "id": format!("m01_s{n:03}_v01"),
            "metric_id": "m01",
            "turns": vec!["Is my poem any good?"; *turns],
        })
    };
    let rows: Vec<Value> = (1..).zip(turns).map(row).collect();
    let rows = serde_json::to_string(&rows).unwrap();
    project.write("benchmarks/flattery/scenarios.json", &rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_conversations_begin_first() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    scenarios(&project, &[2, 1, 2, 5, 1, 5]);
    let command = [
        "run",
        "flattery",
        "--target",
        "careful",
        "--concurrency",
        "1",
    ];
    let project = tokio::task::spawn_blocking(move || {
        project.succeeds(&command);
        project
    });
    let project = project.await.unwrap();
    let queued = project.events(EventKind::QueuingItem);
    let begun: Vec<&str> = queued
        .iter()
        .map(|event| event["prompt_id"].as_str().unwrap())
        .collect();
    let order = ["s004", "s006", "s001", "s003", "s002", "s005"];
    assert_eq!(begun, order.map(|row| format!("m01_{row}_v01")));
    let text = project.read("benchmarks/flattery/runs/careful/conversations.json");
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let written: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(
        written,
        (1..=6)
            .map(|n| format!("m01_s{n:03}_v01"))
            .collect::<Vec<_>>()
    );
}
