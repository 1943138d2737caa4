//! An endpoint that nobody listens at: its cause is reported once, at the first row and at the end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::net::TcpListener;

use common::Project;
use schema::EventKind;

/// With the default retries, whose attempts would take minutes: nothing ever listened there, so ten seconds are enough.
#[test]
fn a_run_against_nobody_ends_after_ten_seconds() {
    let project = Project::new();
    project.succeeds(&["gen-metrics"]);
    project.succeeds(&["gen-scenarios"]);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let model = format!("model: m, base_url: 'http://127.0.0.1:{port}/v1'");
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{{model}}}\nevaluator_model: {{{model}}}\ntargets: [{{id: a, {model}}}]\n"
        ),
    );
    let ran = project.run(&["run", "sycophancy"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err
            .contains("Nothing there has ever answered: is it running, and is `base_url` right?"),
        "{}",
        ran.err
    );
    let shown = project.succeeds(&[
        "journal",
        "show",
        "--message",
        EventKind::CircuitBreakerOpened.message(),
        "--json",
    ]);
    let failing_for = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["failing_for"].as_f64().unwrap()
    };
    let waits: Vec<f64> = shown.out.lines().map(failing_for).collect();
    assert!(
        waits.len() == 1 && (10.0..20.0).contains(&waits[0]),
        "{waits:?}"
    );
}

#[test]
fn the_cause_is_named_once_for_all_rows_and_targets() {
    let project = Project::new();
    project.succeeds(&["gen-metrics"]);
    project.succeeds(&["gen-scenarios"]);
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let model = |name: &str| format!("model: {name}, base_url: 'http://127.0.0.1:{port}/v1'");
    project.write(
        "config.yaml",
        &format!(
            "user_model: {{{}}}\nevaluator_model: {{{}}}\ntargets: [{{id: a, {}}}, {{id: b, {}}}]\n\
             retries: {{max_attempts: 2}}\n",
            model("u"),
            model("j"),
            model("a"),
            model("b")
        ),
    );
    let ran = project.run(&["run", "sycophancy"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let first = ran
        .err
        .find(": the first failed row: user model u")
        .unwrap();
    assert!(
        first < ran.err.find("simulate 16/16").unwrap(),
        "{}",
        ran.err
    );
    assert_eq!(
        ran.err.matches("the first failed row").count(),
        1,
        "{}",
        ran.err
    );
    assert_eq!(ran.err.matches("Is it running").count(), 2, "{}", ran.err);
    let summary = ran.err.split_once("16 rows failed\n").unwrap().1;
    assert!(
        summary.starts_with("  simulate, a, b: 16 rows\n"),
        "{summary}"
    );
    assert!(!summary.contains("tried"), "{summary}");
    assert!(
        summary.ends_with(
            "nothing could be run: fix the cause above and run the same command again\n"
        ),
        "{summary}"
    );
    // The rows themselves say how often.
    let rows = project.read("benchmarks/sycophancy/runs/a/conversations.json");
    assert!(rows.contains("(tried 2 times)"), "{rows}");
}
