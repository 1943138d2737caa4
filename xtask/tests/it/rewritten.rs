//! Metrics and scenarios that somebody wrote over those of a run: whose they are, and that they are not lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;

use std::fs;

use common::Ground;
use scripted_llm::ScriptedServer;
use serde_json::Value;

const YAML: &str = "benchmarks/sycophancy/benchmark.yaml";
const SCENARIOS: &str = "benchmarks/sycophancy/scenarios.json";

/// The files beside `benchmark.yaml` that are kept copies.
fn copies(ground: &Ground) -> Vec<String> {
    let folder = fs::read_dir(ground.path("benchmarks/sycophancy")).unwrap();
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
fn rewrite_scenarios(ground: &Ground, rows: usize) {
    let mut all: Vec<Value> = serde_json::from_str(&ground.read(SCENARIOS)).unwrap();
    for row in all.iter_mut().take(rows) {
        *row.get_mut("user_goal").unwrap() = "Mine.".into();
    }
    let text = serde_json::to_string_pretty(&all).unwrap();
    ground.write(SCENARIOS, &text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rewritten_by_hand_is_not_of_scripted_models() {
    let server = ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.succeeds(&["gen-metrics"]);
    ground.succeeds(&["gen-scenarios"]);
    ground.served_by(&server, "");
    fs::remove_dir_all(ground.path("benchmarks/flattery")).unwrap();
    let said = |what: &str| format!("scripted models wrote {what} (in run-");
    let plan = || ground.run(&["plan", "sycophancy"]).err;
    let err = plan();
    assert!(err.contains(&said("metrics and scenarios")), "{err}");
    let advice = "help: `cargo xtask gen-metrics sycophancy --force`, then `cargo xtask gen-scenarios sycophancy --force` generates";
    assert!(err.contains(advice), "{err}");

    // Some that are left are enough.
    rewrite_scenarios(&ground, 2);
    let generated = ground.read(YAML);
    ground.write(YAML, &renamed(&generated, "My", 1));
    assert!(plan().contains(&said("metrics and scenarios")));
    rewrite_scenarios(&ground, usize::MAX);
    assert!(plan().contains(&said("metrics")));
    ground.write(YAML, &renamed(&generated, "My", usize::MAX));
    assert!(!plan().contains("scripted models wrote"), "{}", plan());
}

#[test]
fn what_was_edited_is_kept_when_it_is_replaced() {
    let ground = Ground::new();
    ground.succeeds(&["run"]);
    for phase in ["gen-metrics", "gen-scenarios"] {
        let ran = ground.succeeds(&[phase, "--force"]);
        assert!(!ran.err.contains("kept as"), "{}", ran.err);
    }
    assert!(copies(&ground).is_empty(), "{:?}", copies(&ground));

    let mut edited = Vec::new();
    for word in ["My", "Our"] {
        let yaml = ground.read(YAML);
        let text = renamed(&yaml, word, 1);
        assert_ne!(text, yaml);
        ground.write(YAML, &text);
        let ran = ground.succeeds(&["gen-metrics", "--force"]);
        let warned = "warning: sycophancy: benchmark.yaml was changed since run-";
        assert!(ran.err.contains(warned), "{}", ran.err);
        let kept = "This run replaced its metrics; the earlier file is kept as benchmarks/sycophancy/benchmark.kept-";
        assert!(ran.err.contains(kept), "{}", ran.err);
        edited.push(text);
    }
    let kept: Vec<String> = copies(&ground);
    let mut texts: Vec<String> = kept
        .iter()
        .map(|name| ground.read(&format!("benchmarks/sycophancy/{name}")))
        .collect();
    texts.sort();
    edited.sort();
    assert_eq!(texts, edited);

    rewrite_scenarios(&ground, 1);
    let text = ground.read(SCENARIOS);
    let ran = ground.succeeds(&["gen-scenarios", "--force"]);
    let warned = "warning: sycophancy: scenarios.json was changed since run-";
    assert!(ran.err.contains(warned), "{}", ran.err);
    let kept = copies(&ground);
    let copy = kept.iter().find(|name| name.starts_with("scenarios.kept-"));
    let copy = format!("benchmarks/sycophancy/{}", copy.unwrap());
    assert_eq!(ground.read(&copy), text);
    // Nothing reads the copies.
    let ran = ground.run(&["validate", "benchmarks/sycophancy"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}
