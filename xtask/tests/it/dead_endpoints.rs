//! An endpoint that nobody listens at: its cause is reported once, at the first row and at the end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::net::TcpListener;

use common::Project;

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
