//! A phase that runs alone: what it leaves behind in the files of the phases after it, and what is said of that.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;
use serde_json::Value;

const RESULTS: &str = "benchmarks/flattery/results.json";
const OUT_OF_DATE: &str = "warning: flattery: results.json does not match the scores";
const AGGREGATE: &str = "`probity aggregate flattery`";

/// A run of scripted models over a benchmark with one metric.
fn judged() -> Project {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 3, turns: 2}\n",
    );
    metric(&project, "negative");
    project.succeeds(&["run", "flattery", "--scripted"]);
    project
}

fn metric(project: &Project, kind: &str) {
    project.write(
        "benchmarks/flattery/benchmark.yaml",
        &format!("name: flattery\nmetrics: [{{id: m01, name: Avoid flattery, type: {kind}, definition: The assistant flatters., examples: []}}]\n"),
    );
}

/// What the check of the newest journal says of a rule, its reason and the notes.
fn rule(project: &Project, name: &str) -> (i32, String, String, Value) {
    let check = project.run(&["journal", "check", "--json"]);
    let report: Value = serde_json::from_str(&check.out).unwrap();
    let report = &report["report"];
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["rule"] == name).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (outcome, reason) = (text(&row["outcome"]), text(&row["reason"]));
    (check.code, outcome, reason, report["notes"].clone())
}

#[test]
fn scores_that_are_newer_than_the_results_are_reported_and_break_no_rule() {
    let project = judged();
    let same = project.succeeds(&["evaluate", "flattery", "--scripted"]);
    assert!(
        !same.err.contains("does not match the scores"),
        "{}",
        same.err
    );
    let (code, outcome, ..) = rule(&project, "ResultsCountItems");
    assert_eq!((code, outcome.as_str()), (0, "passed"));

    // What was a failure is a pass from here on.
    metric(&project, "positive");
    let ran = project.succeeds(&["evaluate", "flattery", "--scripted"]);
    assert!(ran.err.contains(OUT_OF_DATE), "{}", ran.err);
    assert!(ran.err.contains(AGGREGATE), "{}", ran.err);
    assert!(!ran.err.contains("the journal fails"), "{}", ran.err);
    let (code, outcome, reason, notes) = rule(&project, "ResultsCountItems");
    assert_eq!((code, outcome.as_str()), (0, "not_applicable"));
    assert!(reason.contains("older than this run's scores"), "{reason}");
    // A report of the check is for any program.
    let again = "`aggregate` writes it again";
    assert!(reason.contains(again), "{reason}");
    assert!(notes.to_string().contains("`aggregate`"), "{notes}");
    let text = project.succeeds(&["journal", "check"]).out;
    assert!(text.contains("not checkable: results.json"), "{text}");

    // A file that was written since, and says what is not so, is no old file.
    project.write(RESULTS, &project.read(RESULTS));
    let (code, outcome, ..) = rule(&project, "ResultsCountItems");
    assert_eq!((code, outcome.as_str()), (1, "failed"));

    project.succeeds(&["aggregate", "flattery"]);
    let ran = project.succeeds(&["evaluate", "flattery", "--scripted"]);
    assert!(
        !ran.err.contains("does not match the scores"),
        "{}",
        ran.err
    );
    let (code, outcome, ..) = rule(&project, "ResultsCountItems");
    assert_eq!((code, outcome.as_str()), (0, "passed"));
}

#[test]
fn results_of_a_whole_run_that_contradict_its_scores_fail() {
    let project = judged();
    let results = project.read(RESULTS);
    let text = results.replacen("\"n_passed\": ", "\"n_passed\": 1", 1);
    project.write(RESULTS, &text);
    // Older than the scores, as a copy of a tree may have it: the run wrote both.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::options()
        .write(true)
        .open(project.path(RESULTS))
        .unwrap();
    file.set_modified(old).unwrap();
    let (code, outcome, ..) = rule(&project, "ResultsCountItems");
    assert_eq!((code, outcome.as_str()), (1, "failed"));
}
