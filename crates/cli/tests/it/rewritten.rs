//! Metrics and scenarios that somebody wrote over those of a run: whose they are, and that they are not lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::fs;

use common::Project;
use scripted_llm::ScriptedServer;
use serde_json::Value;

const YAML: &str = "benchmarks/sycophancy/benchmark.yaml";
const SCENARIOS: &str = "benchmarks/sycophancy/scenarios.json";

/// The files beside `benchmark.yaml` that are kept copies.
fn copies(project: &Project) -> Vec<String> {
    let folder = fs::read_dir(project.path("benchmarks/sycophancy")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(".kept-")).collect();
    names.sort();
    names
}

/// The text with `word` before the names of the first metrics, as many as `count`.
fn renamed(text: &str, word: &str, count: usize) -> String {
    text.replacen("\n  name: ", &format!("\n  name: {word} "), count)
}

/// Gives every scenario another goal.
fn rewrite_scenarios(project: &Project, rows: usize) {
    let mut all: Vec<Value> = serde_json::from_str(&project.read(SCENARIOS)).unwrap();
    for row in all.iter_mut().take(rows) {
        *row.get_mut("user_goal").unwrap() = "Mine.".into();
    }
    let text = serde_json::to_string_pretty(&all).unwrap();
    project.write(SCENARIOS, &text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rewritten_by_hand_is_not_of_scripted_models() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.succeeds(&["gen-metrics"]);
    project.succeeds(&["gen-scenarios"]);
    project.served_by(&server, "");
    fs::remove_dir_all(project.path("benchmarks/flattery")).unwrap();
    let said = |what: &str| format!("scripted models wrote {what} (in run-");
    let plan = || project.run(&["plan", "sycophancy"]).err;
    let err = plan();
    assert!(err.contains(&said("the metrics and scenarios")), "{err}");
    let advice = "help: `probity gen-metrics sycophancy --force`, then `probity gen-scenarios sycophancy --force` generates";
    assert!(err.contains(advice), "{err}");

    // Some that are left are enough.
    rewrite_scenarios(&project, 2);
    let generated = project.read(YAML);
    project.write(YAML, &renamed(&generated, "My", 1));
    assert!(plan().contains(&said("the metrics and scenarios")));
    rewrite_scenarios(&project, usize::MAX);
    assert!(plan().contains(&said("the metrics")));
    project.write(YAML, &renamed(&generated, "My", usize::MAX));
    assert!(!plan().contains("scripted models wrote"), "{}", plan());
}

#[test]
fn what_was_edited_is_kept_when_it_is_replaced() {
    let project = Project::new();
    project.succeeds(&["run"]);
    for phase in ["gen-metrics", "gen-scenarios"] {
        let ran = project.succeeds(&[phase, "--force"]);
        assert!(!ran.err.contains("kept as"), "{}", ran.err);
    }
    assert!(copies(&project).is_empty(), "{:?}", copies(&project));

    let mut edited = Vec::new();
    for word in ["My", "Our"] {
        let yaml = project.read(YAML);
        let text = renamed(&yaml, word, 1);
        assert_ne!(text, yaml);
        project.write(YAML, &text);
        let ran = project.succeeds(&["gen-metrics", "--force"]);
        let warned = "warning: sycophancy: benchmark.yaml was changed since run-";
        assert!(ran.err.contains(warned), "{}", ran.err);
        let kept = "This run replaced its metrics; the earlier file is kept as benchmarks/sycophancy/benchmark.kept-";
        assert!(ran.err.contains(kept), "{}", ran.err);
        edited.push(text);
    }
    let kept: Vec<String> = copies(&project);
    let mut texts: Vec<String> = kept
        .iter()
        .map(|name| project.read(&format!("benchmarks/sycophancy/{name}")))
        .collect();
    texts.sort();
    edited.sort();
    assert_eq!(texts, edited);

    rewrite_scenarios(&project, 1);
    let text = project.read(SCENARIOS);
    let ran = project.succeeds(&["gen-scenarios", "--force"]);
    let warned = "warning: sycophancy: scenarios.json was changed since run-";
    assert!(ran.err.contains(warned), "{}", ran.err);
    let kept = copies(&project);
    let copy = kept.iter().find(|name| name.starts_with("scenarios.kept-"));
    let copy = format!("benchmarks/sycophancy/{}", copy.unwrap());
    assert_eq!(project.read(&copy), text);
    // Nothing reads the copies.
    let ran = project.run(&["validate", "benchmarks/sycophancy"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}
