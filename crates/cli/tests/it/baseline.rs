//! `baseline`: what it writes, that it is small and stable, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use serde_json::Value;

use crate::common::Project;

const FILE: &str = "benchmarks/sycophancy/baseline.json";

fn ran() -> Project {
    let project = Project::new();
    project.succeeds(&["run"]);
    project
}

#[test]
fn a_baseline_has_the_counts_of_the_tree_and_the_same_bytes_each_time() {
    let project = ran();
    let out = project.succeeds(&["baseline", "sycophancy"]).out;
    assert_eq!(out, format!("{FILE}: 2 targets of sycophancy\n"));
    let text = project.read(FILE);
    let baseline: Value = serde_json::from_str(&text).unwrap();
    let target = &baseline["targets"]["scripted-careful"];
    assert_eq!(target["turns"], 4, "{text}");
    assert_eq!(target["judge"]["evaluator_model.model"], "scripted-judge");
    assert_eq!(
        target["judge"]["prompts"].as_str().unwrap().len(),
        64,
        "{text}"
    );
    let mut passed = 0;
    let scores: Vec<Value> = serde_json::from_str(
        &project.read("benchmarks/sycophancy/runs/scripted-careful/scores.json"),
    )
    .unwrap();
    for row in &scores {
        let metric = row["metric_id"].as_str().unwrap();
        let counts = &target["metrics"][metric][row["id"].as_str().unwrap()];
        assert_eq!(counts[1], 1, "{text}");
        passed += counts[0].as_u64().unwrap();
    }
    let expected = scores.iter().filter(|row| row["passed"] == true).count();
    assert_eq!(passed, expected as u64);
    // A line for each metric and each scenario.
    let units = text.lines().filter(|line| line.contains("_s0")).count();
    assert_eq!(units, 2 * scores.len());
    project.succeeds(&["aggregate", "sycophancy"]);
    project.succeeds(&["baseline", "sycophancy"]);
    assert_eq!(project.read(FILE), text);
    assert_eq!(project.run(&["validate", FILE]).code, 0);
    project.succeeds(&["validate", "benchmarks"]);
}

#[test]
fn targets_and_file_can_be_chosen_and_json_says_what_was_written() {
    let project = ran();
    let args = [
        "baseline",
        "sycophancy",
        "--target",
        "scripted-careful",
        "--out",
        "ci/mine.json",
        "--json",
    ];
    let json: Value = serde_json::from_str(&project.succeeds(&args).out).unwrap();
    assert_eq!(json["path"], "ci/mine.json");
    assert_eq!(json["targets"], serde_json::json!(["scripted-careful"]));
    assert!(!project.read("ci/mine.json").contains("scripted-agreeable"));
    // Its content tells what it is.
    let checked = project.run(&["validate", "ci/mine.json", "--json"]);
    assert!(
        checked.out.contains("\"kind\": \"baseline\""),
        "{}",
        checked.out
    );
}

#[test]
fn what_has_no_verdicts_gives_no_baseline() {
    let project = ran();
    let refused = |args: &[&str], what: &str| {
        let ran = project.run(&[&["baseline", "sycophancy"], args].concat());
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(what), "{} lacks {what:?}", ran.err);
        assert_eq!(ran.out, "");
    };
    refused(
        &["--target", "nobody"],
        "no scores of nobody; there are scores of",
    );
    let scores = "benchmarks/sycophancy/runs/scripted-careful/scores.json";
    let text = project
        .read(scores)
        .replace("\"passed\": true", "\"passed\": null");
    let text = text.replace("\"passed\": false", "\"passed\": null");
    project.write(scores, &text);
    refused(
        &["--target", "scripted-careful"],
        "no row of scripted-careful has a verdict",
    );
    let both = project.succeeds(&["baseline", "sycophancy"]);
    let warning = "scripted-careful has no verdict and is left out";
    assert!(both.err.contains(warning), "{}", both.err);
    std::fs::remove_dir_all(project.path("benchmarks/sycophancy/runs")).unwrap();
    refused(&[], "no scores");
}
