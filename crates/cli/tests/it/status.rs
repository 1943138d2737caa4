//! `status` beside a run in progress, after its end, and after its death. Its figures are those of the journal.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure ends the test"
)]

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use schema::EventKind;
use scripted_llm::ScriptedServer;
use serde_json::Value;

use crate::common::Project;

/// Starts a run of 24 rows whose calls are held after `replies`.
async fn held_run(project: &Project, server: &ScriptedServer, replies: usize, more: &str) -> Child {
    project.served_by(server, more);
    project.flattery(12);
    server.hold_after(replies);
    let run = project
        .command(&["run", "flattery", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.held() == 0 {
        assert!(Instant::now() < deadline, "the run asked for nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The journal reaches the file within a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    run
}

fn status(project: &Project, args: &[&str], code: i32) -> Value {
    let ran = project.run(&[&["status", "--json"], args].concat());
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// The lines of the run's only journal.
fn journal(project: &Project, status: &Value) -> Vec<Value> {
    let text = project.read(status["journals"][0].as_str().unwrap());
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn count(lines: &[Value], is_it: impl Fn(&Value, &str) -> bool) -> u64 {
    let is_it = |line: &&Value| is_it(line, line["message"].as_str().unwrap());
    lines.iter().filter(is_it).count() as u64
}

fn phase<'s>(status: &'s Value, name: &str) -> &'s Value {
    let mut phases = status["phases"].as_array().unwrap().iter();
    phases.find(|phase| phase["phase"] == name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_progress_is_shown_as_its_journal_has_it() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    let mut run = held_run(&project, &server, 60, "budget: {max_tokens: 9000000}\n").await;
    let now = status(&project, &[], 0);
    let lines = journal(&project, &now);
    assert_eq!(now["state"], "running");
    assert_eq!(
        (&now["rows"], &now["budget_tokens"]),
        (&24.into(), &9_000_000.into())
    );
    let ended = count(&lines, |_, message| {
        message == EventKind::ItemFinished || message == EventKind::ItemFailed
    });
    let simulated = count(&lines, |_, message| {
        message == EventKind::ConversationFinished
    });
    let queued = count(&lines, |_, message| message == EventKind::QueuingItem);
    let replies = count(&lines, |line, message| {
        message.starts_with("fetched") && line["turns"].is_null()
    });
    assert_eq!(now["ended"], ended);
    assert_eq!(now["running"], queued - ended);
    assert_eq!(now["calls"]["replies"], replies);
    assert!(replies >= 50 && simulated > 0, "{now:#}");
    let [simulate, evaluate] = ["simulate", "evaluate"].map(|name| phase(&now, name));
    assert_eq!(simulate["done"], simulated);
    assert_eq!(simulate["rows"], 24);
    for phase in [simulate, evaluate] {
        let sum: u64 = ["done", "failed", "running", "pending", "skipped"]
            .map(|key| phase[key].as_u64().unwrap())
            .iter()
            .sum();
        assert_eq!(sum, 24, "{phase:#}");
    }
    let models = now["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    let tokens: u64 = lines
        .iter()
        .filter(|line| line["message"].as_str().unwrap().starts_with("fetched"))
        .filter_map(|line| line["spend"]["input_tokens"].as_u64())
        .sum();
    assert_eq!(now["spent"]["input_tokens"], tokens);
    // A running conversation has the messages so far.
    let conversation = &now["conversations"][0];
    let said = count(&lines, |line, message| {
        (message == EventKind::TranslatedUserResponse || message == EventKind::TranslatedSutTurn)
            && line["prompt_id"] == conversation["prompt_id"]
            && line["sut"] == conversation["model"]
    });
    assert_eq!(
        conversation["messages"].as_array().unwrap().len() as u64,
        said
    );
    // Rows are simulated in the order of the files, so no rate is shown, and the page and the command say why.
    assert_eq!(now["row_order"], "files");
    assert!(
        now["no_rates"]
            .as_str()
            .unwrap()
            .contains("order of the files")
    );
    // The same for people, by the benchmark's name and by the run's id.
    let id = now["run_id"].as_str().unwrap();
    for args in [&["status"][..], &["status", "flattery"], &["status", id]] {
        let text = project.succeeds(args).out;
        assert!(text.lines().count() <= 25, "{text}");
        assert!(
            text.lines()
                .all(|line| line.starts_with("journal ") || line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.starts_with(&format!("flattery, {id}: running\n")),
            "{text}"
        );
        assert!(
            text.contains("  simulate ") && text.contains("  careful "),
            "{text}"
        );
        assert!(!text.contains("evaluate judges"), "{text}");
    }
    server.release();
    assert!(run.wait().unwrap().success());
    let last = status(&project, &[], 0);
    assert_eq!(
        (&last["state"], &last["outcome"]),
        (&"ended".into(), &"complete".into())
    );
    assert_eq!((&last["ended"], &last["running"]), (&24.into(), &0.into()));
    assert_eq!(last["help"], Value::Null);
    let text = project.succeeds(&["status"]).out;
    assert!(
        text.starts_with("no run is in progress; the last one:\nflattery, "),
        "{text}"
    );
    assert!(text.contains("Complete: 24 rows."), "{text}");
    // The output is the one of its schema.
    project.write("status.json", &project.succeeds(&["status", "--json"]).out);
    project.succeeds(&["validate", "--as", "output", "status.json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_is_dead_and_its_next_run_is_another_one() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    let mut run = held_run(&project, &server, 40, "journal: {compress: true}\n").await;
    let running = status(&project, &[], 0);
    assert_eq!(running["state"], "running");
    run.kill().unwrap();
    run.wait().unwrap();
    let dead = status(&project, &[], 1);
    assert_eq!(
        (&dead["state"], &dead["outcome"]),
        (&"died".into(), &Value::Null)
    );
    assert_eq!(dead["ended"], running["ended"]);
    assert_eq!((&dead["running"], &dead["end"]), (&0.into(), &Value::Null));
    let ran = project.run(&["status"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains(": dead\n"), "{}", ran.out);
    assert!(
        ran.out.contains("help: `probity run flattery` goes on"),
        "{}",
        ran.out
    );
    // The lock of the next run is not the dead one's.
    let first = dead["run_id"].as_str().unwrap().to_owned();
    let mut next = held_run(&project, &server, 10, "").await;
    assert_eq!(status(&project, &[&first], 1)["state"], "died");
    let now = status(&project, &[], 0);
    assert_eq!(now["state"], "running");
    assert_ne!(now["run_id"], first.as_str());
    assert!(now["calls"]["cached"].as_u64() > Some(0), "{now:#}");
    server.release();
    assert!(next.wait().unwrap().success());
}

#[test]
fn the_last_run_is_the_last_one_with_rows() {
    let project = Project::new();
    project.flattery(1);
    project.succeeds(&["run", "flattery"]);
    let played = status(&project, &[], 0)["run_id"].clone();
    project.succeeds(&["aggregate", "flattery"]);
    for args in [&[][..], &["flattery"]] {
        let last = status(&project, args, 0);
        assert_eq!(last["run_id"], played, "{args:?}");
        assert_ne!(last["rows"], 0);
        let shown = project.succeeds(&[&["journal", "stats"], args].concat());
        let id = played.as_str().unwrap();
        assert!(shown.out.contains(id), "{id}: {}", shown.out);
    }
    std::fs::remove_dir_all(project.path(".probity/runs")).unwrap();
    project.succeeds(&["aggregate", "flattery"]);
    let only = project.succeeds(&["status"]).out;
    assert!(only.contains("simulated and judged no row"), "{only}");
}

#[test]
fn without_a_run_the_command_says_how_to_start_one() {
    let project = Project::new();
    let ran = project.run(&["status"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("none is recorded\nhelp: `probity run` starts one"),
        "{}",
        ran.err
    );
    project.flattery(1);
    let ran = project.run(&["status", "flatery"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("did you mean `flattery`?"), "{}", ran.err);
    let ran = project.run(&["status", "flattery"]);
    assert!(ran.err.contains("flattery: no such run"), "{}", ran.err);
}
