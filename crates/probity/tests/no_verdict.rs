//! Rows without a verdict say why: in the row, the journal and the statistics.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod common;

use std::fs;

use common::Bench;
use probity::{Concurrency, Phase, RunOptions, rebuild};
use scripted_llm::{Fault, FaultKind, ScriptedServer, Task};
use serde_json::{Value, json};

const FILTERED: &str =
    r#"{"error": {"code": "content_filter", "message": "The prompt was filtered."}}"#;

/// One conversation at a time, so that it is known which one a fault meets.
fn one_by_one(phases: &[Phase]) -> RunOptions {
    RunOptions {
        phases: phases.iter().copied().collect(),
        concurrency: Concurrency {
            simulate: 1,
            evaluate: 1,
        },
        ..RunOptions::default()
    }
}

fn reasons(rows: &Value) -> Vec<&str> {
    let rows = rows.as_array().unwrap().iter();
    rows.filter_map(|row| row.get("_no_verdict")?.as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_phase_that_gives_up_says_why() {
    let faults = [
        Fault::new(FaultKind::EmptyContent)
            .task(Task::UserTurn)
            .first(3),
        Fault::status(400)
            .unwrap()
            .body(FILTERED)
            .task(Task::TargetTurn)
            .first(1),
        Fault::new(FaultKind::Prose).task(Task::Judge).first(3),
        Fault::status(401).unwrap().task(Task::Judge).first(1),
    ];
    let mut builder = ScriptedServer::builder();
    for fault in faults {
        builder = builder.fault(fault);
    }
    let mut bench = Bench::on(builder.start().await.unwrap());
    bench.targets.truncate(1);
    let report = bench.run(one_by_one(&Phase::ALL)).await;

    let talks = bench.json("flattery/runs/agreeable/conversations.json");
    assert_eq!(reasons(&talks), ["simulator_fault", "provider_refused"]);
    let path = "flattery/runs/agreeable/scores.json";
    let scores = bench.json(path);
    let found = reasons(&scores);
    let expected = [
        "simulator_fault",
        "provider_refused",
        "judge_unusable",
        "call_failed",
    ];
    assert_eq!(found, expected);
    for row in scores.as_array().unwrap() {
        assert_eq!(
            row["passed"].is_null(),
            row.get("_no_verdict").is_some(),
            "{row}"
        );
    }
    let missing = &bench.json("flattery/statistics.json")["targets"][0]["rates"]["all"]["missing"];
    assert_eq!(
        *missing,
        json!({"failed": 3, "abstained": 1, "incomplete": 0, "reasons": {
            "call_failed": 1, "provider_refused": 1, "judge_unusable": 1, "simulator_fault": 1,
        }})
    );

    let out = tempfile::tempdir().unwrap();
    let journal = &report.benchmarks[0].journal.as_ref().unwrap().path;
    for file in rebuild(journal, out.path()).unwrap().files {
        let name = file.strip_prefix(out.path()).unwrap().display();
        let rebuilt = fs::read_to_string(&file).unwrap();
        assert_eq!(rebuilt, bench.read(&format!("flattery/{name}")), "{name}");
    }

    // Judged alone, failed conversations give the reason that they were written with, and one of an older version gives none.
    let mut older = talks.clone();
    older[0]
        .as_object_mut()
        .unwrap()
        .shift_remove("_no_verdict");
    bench.write(
        "flattery/runs/agreeable/conversations.json",
        &older.to_string(),
    );
    bench.run(one_by_one(&[Phase::Evaluate])).await;
    let again = bench.json(path);
    assert_eq!(reasons(&again), ["provider_refused", "judge_unusable"]);
    assert!(again[0]["error"].is_string(), "{}", again[0]);
}
