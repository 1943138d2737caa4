//! Advice of errors that the library makes: on a line of its own, with the name of the program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use common::Project;

#[test]
fn advice_can_be_pasted() {
    let project = Project::new();
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\ndescription: Flattery.\n",
    );
    let advised = |args: &[&str], error: &str, help: &str| {
        let ran = project.run(args);
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
        "`probity gen-metrics b` makes them, or `probity run b` all that is missing",
    );
    advised(
        &["calibrate", "b", "--reference", "x"],
        "benchmarks/b/benchmark.yaml: no metrics",
        "`probity run b` writes them and measures the targets",
    );
    project.succeeds(&["gen-metrics", "b"]);
    advised(
        &["simulate", "b"],
        "benchmarks/b/scenarios.json: no scenarios",
        "`probity gen-scenarios b` makes them, or `probity run b` all that is missing",
    );
    project.write(
        "benchmarks/b/scenarios.json",
        r#"[{"id": "s", "metric_id": "zz", "metric_name": "Another", "persona": "p", "user_goal": "g"}]"#,
    );
    advised(
        &["run", "b"],
        "no row fits a metric of benchmark.yaml",
        "restore the right file, or replace the scenarios with `probity gen-scenarios b --force`",
    );
}

#[test]
fn files_that_cannot_be_summed_up_come_with_the_command_that_mends_them() {
    let project = Project::new();
    let metric = "{id: m01, name: Honest, type: positive, definition: x}";
    project.write(
        "benchmarks/b/benchmark.yaml",
        &format!("name: b\nmetrics: [{metric}]\n"),
    );
    let score = r#"{"id": "s", "metric_id": "m01", "target_model": "t", "present": true, "passed": true, "score": 1}"#;
    let scores = "benchmarks/b/runs/t/scores.json";
    let advised = |args: &[&str], error: &str, help: &str| {
        let ran = project.run(args);
        let said = format!("{}{}", ran.out, ran.err);
        assert_ne!(ran.code, 0, "{args:?}: {said}");
        assert!(said.contains(error), "{args:?}: {said}");
        assert!(
            said.contains(&format!("\nhelp: {help}\n")),
            "{args:?}: {said}"
        );
    };
    project.write(
        scores,
        &score.replace("\"passed\": true", "\"passed\": false"),
    );
    project.write(scores, &format!("[{}]", project.read(scores)));
    let again = "correct the row (`present`, `passed` and `score` go together), or judge it again with \
                 `probity evaluate b --target t`";
    advised(
        &["aggregate", "b"],
        "scores.json: row 1: s, metric m01",
        again,
    );
    project.write(scores, &format!("[{score}]"));
    project.succeeds(&["aggregate", "b"]);
    project.write("benchmarks/b/standards.json", "{}");
    let again = "`probity calibrate b --reference ID --force` writes the file again";
    advised(
        &["aggregate", "b"],
        "standards.json: _metadata.file_format_version is missing",
        again,
    );
    std::fs::remove_file(project.path("benchmarks/b/standards.json")).unwrap();
    // What `validate` says of files that are summed up from others.
    project.write(
        scores,
        &format!("[{score}, {}]", score.replace("\"s\"", "\"s2\"")),
    );
    advised(
        &["validate", "benchmarks/b"],
        "results.json:",
        "`probity aggregate b` rewrites results.json",
    );
    advised(
        &["validate", "benchmarks/b"],
        "statistics.json:",
        "`probity aggregate b` rewrites statistics.json",
    );
}
