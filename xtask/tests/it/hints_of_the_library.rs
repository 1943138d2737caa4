//! Advice of errors that the library makes: on a line of its own, with the name of the program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use common::Ground;

#[test]
fn advice_can_be_pasted() {
    let ground = Ground::new();
    ground.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\ndescription: Flattery.\n",
    );
    let advised = |args: &[&str], error: &str, help: &str| {
        let ran = ground.run(args);
        assert_ne!(ran.code, 0, "{args:?}: {}", ran.out);
        assert!(
            ran.err.contains(&format!("{error}\n")),
            "{args:?}: {}",
            ran.err
        );
        assert!(
            ran.err.contains(&format!("\nhelp: {help}\n")),
            "{args:?}: {}",
            ran.err
        );
    };
    advised(
        &["simulate", "b"],
        "benchmarks/b/benchmark.yaml: no metrics",
        "`cargo xtask gen-metrics b` makes them, or `cargo xtask run b` all that is missing",
    );
    advised(
        &["calibrate", "b", "--reference", "x"],
        "benchmarks/b/benchmark.yaml: no metrics",
        "`cargo xtask run b` writes them and measures the targets",
    );
    ground.succeeds(&["gen-metrics", "b"]);
    advised(
        &["simulate", "b"],
        "benchmarks/b/scenarios.json: no scenarios",
        "`cargo xtask gen-scenarios b` makes them, or `cargo xtask run b` all that is missing",
    );
    ground.write(
        "benchmarks/b/scenarios.json",
        r#"[{"id": "s", "metric_id": "zz", "metric_name": "Another", "persona": "p", "user_goal": "g"}]"#,
    );
    advised(
        &["run", "b"],
        "no row fits a metric of benchmark.yaml",
        "restore the right file, or replace the scenarios with `cargo xtask gen-scenarios b --force`",
    );
}
