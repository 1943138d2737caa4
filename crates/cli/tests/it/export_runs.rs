//! Which runs an export takes what the tree does not hold from.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;
use crate::exports;

use common::Project;
use exports::demonstration;
use serde_json::{Value, json};

#[test]
fn a_run_of_another_folder_with_the_same_name_lends_nothing() {
    let project = demonstration();
    project.succeeds(&["export", "jsonl", "--out", "before"]);
    let own = project.read("before/runs.jsonl");
    // The same name in another place, with the same records; shorter talks, so that the replies are others.
    let elsewhere = ["--benchmarks", "other"];
    let yaml = project.read("benchmarks/sycophancy/benchmark.yaml");
    project.write("other/sycophancy/benchmark.yaml", &yaml);
    let run = ["run", "sycophancy", "--turns", "1", "--quiet"];
    project.succeeds(&[&run[..], &elsewhere].concat());
    project.succeeds(&["export", "jsonl", "--out", "after"]);
    let after = project.read("after/runs.jsonl");
    assert_eq!(without_findings(&after), without_findings(&own));
    let records = "has a record of other conversations and scores than those of scripted-agreeable and scripted-careful";
    assert!(
        after.contains(records) && !after.contains("was edited"),
        "{after}"
    );
    let args = ["export", "jsonl", "--out", "of-other"];
    project.succeeds(&[&args[..], &elsewhere].concat());
    let other: Value = first(&project.read("of-other/runs.jsonl"));
    assert_ne!(other["run_id"], first(&own)["run_id"]);

    // Of a tree that no journal documents, the run is not known.
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let mut talks: Value = serde_json::from_str(&project.read(path)).unwrap();
    for talk in talks.as_array_mut().unwrap() {
        for turn in talk["transcript"].as_array_mut().unwrap() {
            turn["content"] = json!("other words");
        }
    }
    project.write(path, &talks.to_string());
    let args = ["export", "jsonl", "--target", "scripted-careful"];
    project.succeeds(&[&args[..], &["--out", "unknown"]].concat());
    let unknown = first(&project.read("unknown/runs.jsonl"));
    assert!(unknown["run_id"].is_null(), "{unknown}");
    assert!(unknown["started"].is_null(), "{unknown}");
}

/// Two trees with one record: what limits a conclusion is not the same.
fn without_findings(text: &str) -> Vec<Value> {
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.map(|mut row: Value| {
        row.as_object_mut().unwrap().remove("findings");
        row
    })
    .collect()
}

/// The first line of a file.
fn first(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn an_interrupted_run_counts_the_samples_it_was_to_play_and_the_summary_says_so_first() {
    let project = Project::new();
    project.succeeds(&["run", "--num-samples", "3", "--quiet"]);
    let run = std::fs::read_dir(project.path(".probity/runs")).unwrap();
    let run = run.last().unwrap().unwrap().file_name();
    let manifest = format!(".probity/runs/{}/manifest.json", run.to_str().unwrap());
    let ended = project
        .read(&manifest)
        .replace("\"complete\"", "\"interrupted\"");
    project.write(&manifest, &ended);
    for target in ["scripted-careful", "scripted-agreeable"] {
        let path = format!("benchmarks/sycophancy/runs/{target}/conversations.json");
        let mut talks: Vec<Value> = serde_json::from_str(&project.read(&path)).unwrap();
        talks.retain(|talk| talk["sample"].as_u64().unwrap_or_default() == 0);
        project.write(&path, &json!(talks).to_string());
    }
    let ran = project.succeeds(&["export", "summary", "--out", "out"]);
    assert!(
        ran.err.contains("8 of 24 conversations exist"),
        "{}",
        ran.err
    );
    let page = project.read("out/summary.md");
    let (top, _) = page.split_once("\n## ").unwrap();
    for reported in [
        "**Not everything is whole:**",
        "sycophancy: scripted-careful: the run was interrupted",
        "sycophancy: scripted-agreeable: 8 of 24 conversations exist",
    ] {
        assert!(top.contains(reported), "{reported}: {page}");
    }
}
