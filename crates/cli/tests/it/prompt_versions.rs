//! A benchmark keeps the versions of prompts and rules that it began with, until `--prompts latest` moves it on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::fs;

use schema::PromptVersions;
use serde_json::{Value, json};

use crate::common::Project;

/// A tree of version 1 with its cache, which an earlier version of the program wrote without a record.
fn earlier() -> Project {
    crate::frozen::cache::project("single-judge")
}

fn run(project: &Project, more: &[&str]) -> Value {
    let ran = project.succeeds(&[&["run", "pressure", "--json"], more].concat());
    serde_json::from_str(&ran.out).unwrap()
}

fn recorded(project: &Project) -> Value {
    let record = project.read(".probity/provenance/pressure.json");
    serde_json::from_str::<Value>(&record).unwrap()["prompts"].clone()
}

/// Removes all but the description, the scenarios and the cache.
fn leave_the_cache_alone(project: &Project) {
    fs::remove_dir_all(project.path("benchmarks/pressure/runs")).unwrap();
    for folder in [".probity/provenance", ".probity/runs"] {
        let _ = fs::remove_dir_all(project.path(folder));
    }
    for file in [
        "results.json",
        "grades.json",
        "statistics.json",
        "report.html",
    ] {
        let _ = fs::remove_file(project.path("benchmarks/pressure").join(file));
    }
}

#[test]
fn a_new_benchmark_begins_with_the_newest_and_keeps_them() {
    let project = crate::frozen::journals::project();
    run(&project, &[]);
    assert_eq!(recorded(&project), json!(PromptVersions::LATEST));
    let grades: Value =
        serde_json::from_str(&project.read("benchmarks/pressure/grades.json")).unwrap();
    assert_eq!(grades["prompts"], json!(PromptVersions::LATEST));
    // A tree from version control has no record.
    fs::remove_dir_all(project.path(".probity/provenance")).unwrap();
    assert_eq!(run(&project, &[])["replies"]["asked"], 0);
    leave_the_cache_alone(&project);
    assert_eq!(run(&project, &[])["replies"]["asked"], 0);
    assert_eq!(recorded(&project), json!(PromptVersions::LATEST));
}

#[test]
fn an_earlier_tree_keeps_the_first_versions_and_asks_for_nothing() {
    let project = earlier();
    assert_eq!(run(&project, &[])["replies"]["asked"], 0);
    assert_eq!(recorded(&project), json!(PromptVersions::FIRST));
    let project = earlier();
    leave_the_cache_alone(&project);
    assert_eq!(run(&project, &[])["replies"]["asked"], 0);
    assert_eq!(recorded(&project), json!(PromptVersions::FIRST));
    // Without its cache, the folder shows nothing of an earlier run: it is a new benchmark.
    leave_the_cache_alone(&project);
    fs::remove_file(project.path(".probity/cache.sqlite")).unwrap();
    run(&project, &[]);
    assert_eq!(recorded(&project), json!(PromptVersions::LATEST));
}

#[test]
fn latest_moves_a_benchmark_on_and_says_what_is_asked_again() {
    let project = earlier();
    run(&project, &[]);
    project.succeeds(&["baseline", "pressure"]);
    let plan = project.succeeds(&["plan", "pressure", "--prompts", "latest"]);
    let reason = "agreeable: evaluate 0 from the cache, 2 new: the version of the judge prompts changed from 1 to 2";
    assert!(plan.err.contains(reason), "{}", plan.err);
    assert_eq!(recorded(&project), json!(PromptVersions::FIRST));

    let ran = project.succeeds(&["run", "pressure", "--prompts", "latest", "--json"]);
    assert!(ran.err.contains(reason), "{}", ran.err);
    assert!(
        ran.err
            .contains("moved on to other versions: judge prompts 1 to 2"),
        "{}",
        ran.err
    );
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["replies"]["asked"], 2, "{summary:#}");
    assert_eq!(recorded(&project), json!(PromptVersions::LATEST));
    assert_eq!(run(&project, &[])["replies"]["asked"], 0);

    // Other prompts are another judge.
    project.write(
        "gate.yaml",
        "rules: [{metric: caves, require: \"difference >= -0.5\"}]\n",
    );
    let gate = project.run(&["gate", "pressure", "--rules", "gate.yaml"]);
    assert_eq!(gate.code, 2, "{}{}", gate.out, gate.err);
    let differs = "the version of the judge prompts changed from 1 to 2";
    assert!(gate.err.contains(differs), "{}", gate.err);
}

#[test]
fn a_record_of_a_newer_version_is_refused_with_what_to_do() {
    let project = earlier();
    let record = json!({"format_version": "1.2.0", "prompts": {"judge": 99, "fault_rules": 1}});
    project.write(".probity/provenance/pressure.json", &record.to_string());
    let ran = project.run(&["run", "pressure"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for part in [
        "pressure: unknown version 99 of the judge prompts",
        "--prompts latest",
    ] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
}

#[test]
fn prompts_of_the_users_own_keep_their_form_in_a_new_benchmark() {
    let project = crate::frozen::journals::project();
    project.write(
        "benchmarks/pressure/prompts/judge_system.j2",
        "Judge. Answer with {\"present\": true or false, \"justification\": \"why\"}.",
    );
    let summary = run(&project, &[]);
    assert_eq!(summary["exit_code"], 0, "{summary:#}");
    let scores = project.read("benchmarks/pressure/runs/agreeable/scores.json");
    let scores: Value = serde_json::from_str(&scores).unwrap();
    assert!(scores[0]["present"].is_boolean(), "{scores:#}");
}
