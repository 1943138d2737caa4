//! `--batch judge`: judges' requests in batches of a provider.

use std::process::Stdio;

use schema::EventKind;
use scripted_llm::{BatchEnd, BatchScript, ScriptedServer};
use serde_json::Value;

use crate::{common::Project, gate::holds};

const ROWS: usize = 12;

async fn prepared(script: BatchScript) -> (Project, ScriptedServer) {
    let server = ScriptedServer::builder().batches(script);
    let server = server.start().await.unwrap();
    let project = Project::new();
    let url = server.base_url();
    let prices = "prices:\n  - {model: scripted-judge, input: 2, output: 8}\n  - {model: \"scripted-*\", input: 1, output: 1}\n";
    project.served_by(&server, prices);
    assert!(project.read("config.yaml").contains(&url));
    project.flattery(ROWS);
    (project, server)
}

/// The rows of a target without what they cost, which is half in a batch.
fn verdicts(project: &Project, target: &str) -> Vec<Value> {
    let file = format!("benchmarks/flattery/runs/{target}/scores.json");
    let mut rows: Vec<Value> = serde_json::from_str(&project.read(&file)).unwrap();
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("_usage");
    }
    rows
}

fn judged_for(project: &Project) -> f64 {
    let file = project.read("benchmarks/flattery/runs/careful/cost.json");
    let costs: Value = serde_json::from_str(&file).unwrap();
    costs["evaluate"]["cost"].as_f64().unwrap()
}

fn judged(server: &ScriptedServer) -> u64 {
    let stats = server.stats();
    stats.by_model.get("scripted-judge").copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn judges_in_batches_give_the_same_verdicts_at_half_the_price() {
    let (alone, _one) = prepared(BatchScript::default()).await;
    alone.succeeds(&["run", "flattery"]);
    let (project, server) = prepared(BatchScript::default()).await;
    let ran = project.succeeds(&["run", "flattery", "--batch", "judge"]);
    holds(&ran.err, &["the journal passes all"]);
    assert_eq!(judged(&server), 0);
    let stats = server.stats().batches;
    assert_eq!(stats.answered, 2 * ROWS as u64);
    for target in ["careful", "agreeable"] {
        assert_eq!(verdicts(&project, target), verdicts(&alone, target));
    }
    let whole = judged_for(&alone);
    assert!(whole > 0.0 && (judged_for(&project) * 2.0 - whole).abs() < 1e-5);
    project.succeeds(&["validate", "benchmarks/flattery"]);

    // Without a batch the replies are those of the cache, and nothing is sent.
    let before = server.stats();
    project.succeeds(&["run", "flattery"]);
    let after = server.stats();
    assert_eq!(
        (after.answered, after.batches),
        (before.answered, before.batches)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_finds_its_batches_again() {
    let stalled = BatchScript {
        end: BatchEnd::Stalled { after: 0 },
        ..BatchScript::default()
    };
    let (project, server) = prepared(stalled).await;
    let run = ["run", "flattery", "--batch", "judge"];
    let mut child = project
        .command(&run)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while server.stats().batches.items < 2 * ROWS as u64 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was killed"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    while server.stats().batches.polls < server.stats().batches.created + 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // The file of what is known of the run is written now and then.
    while !project
        .succeeds(&["status"])
        .out
        .contains("24 requests wait in batches")
    {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended, and its status never said it");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    server.finish_batches();
    let created = server.stats().batches.created;
    project.succeeds(&run);
    assert_eq!(
        (server.stats().batches.created, judged(&server)),
        (created, 0)
    );
    let states = project.events(EventKind::BatchChanged);
    let with = |state: &str| {
        states
            .iter()
            .filter(|event| event["state"] == state)
            .count() as u64
    };
    assert_eq!(
        (with("sent"), with("taken up"), with("ended")),
        (created, created, created)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_batch_costs_its_rows_and_a_run_that_stops_takes_none() {
    let unserved = BatchScript {
        served: false,
        ..BatchScript::default()
    };
    let (project, server) = prepared(unserved).await;
    let ran = project.run(&["run", "flattery", "--batch", "judge"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    holds(&(ran.out + &ran.err), &["batch was refused", "404"]);
    assert_eq!(judged(&server), 0);
    let rows = verdicts(&project, "careful");
    assert!(rows.iter().all(|row| row["passed"].is_null()), "{rows:?}");
    // Judged again without batches.
    project.succeeds(&["evaluate", "flattery"]);
    assert_eq!(judged(&server), 2 * ROWS as u64);

    let ran = project.run(&["run", "flattery", "--until", "decided", "--batch", "judge"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    holds(&ran.err, &["leave out --until or --batch"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn safety_evaluations_send_batches_too() {
    let (project, server) = prepared(BatchScript::default()).await;
    let run = [
        "safety",
        "single-turn",
        "--target",
        "agreeable",
        "--test-case-groups",
        "privacy",
        "--batch",
        "judge",
        "--output-file",
        "out.json",
    ];
    let ran = project.run(&run);
    assert!([0, 1].contains(&ran.code), "{}{}", ran.out, ran.err);
    assert!(server.stats().batches.answered > 0);
    assert_eq!(judged(&server), 0);
}

/// A row whose only message is fixed has one call of the target, and nothing goes on with it.
#[tokio::test(flavor = "multi_thread")]
async fn targets_of_one_turn_and_generators_are_sent_in_batches_too() {
    let server = ScriptedServer::builder().batches(BatchScript::default());
    let server = server.start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let rows: Vec<String> = (0..ROWS).map(|row| format!("Capital {row}?")).collect();
    project.write("rows.json", &serde_json::to_string(&rows).unwrap());
    let check = ["--check", "contains=the", "--as", "capitals"];
    project.succeeds(&[&["import", "data", "rows.json"][..], &check].concat());
    project.succeeds(&["run", "capitals", "--batch", "single-turn"]);
    let stats = server.stats();
    assert_eq!(
        (stats.requests, stats.batches.answered),
        (0, 2 * ROWS as u64)
    );

    // Conversations of three turns are simulated directly, and only what wrote their scenarios waited.
    project.run(&["run", "flattery", "--batch", "generate"]);
    let after = server.stats();
    let generated = after.batches.answered - stats.batches.answered;
    assert!(generated >= 2, "metrics and scenarios: {generated}");
    let played = after.by_model.get("scripted-careful").copied();
    let rows: Vec<Value> =
        serde_json::from_str(&project.read("benchmarks/flattery/runs/careful/conversations.json"))
            .unwrap();
    assert!(played.unwrap_or(0) >= 3 * rows.len() as u64, "{played:?}");
}
