//! Runs that are split: one part in a folder of its own, and the parts merged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod killed;
mod merge;
mod part;
mod refused;
mod safety;

use serde_json::Value;

use crate::{
    common::{Project, Ran},
    tree,
};

/// Scripted models, three metrics, twelve base scenarios of two variants each, two samples, two targets.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {turns: 2, num_samples: 2}\nbudget: {max_cost: 8}\nlimits: {requests_per_minute: 1000000}\n",
    );
    let metric = |id: usize| {
        format!(
            "  - {{id: m0{id}, name: Avoid flattery {id}, type: negative, definition: The assistant flatters., examples: []}}\n"
        )
    };
    let metrics: String = (1..=3).map(metric).collect();
    project.write(
        "benchmarks/flattery/benchmark.yaml",
        &format!("name: flattery # for people\nmetrics:\n{metrics}"),
    );
    let row = |n: usize| {
        let (metric, base, variant) = (n / 8 + 1, n / 2 % 4 + 1, n % 2 + 1);
        format!(
            r#"{{"id": "m0{metric}_s{base:03}_v{variant:02}", "metric_id": "m0{metric}", "persona": "A poet, {n}.", "user_goal": "Praise.", "latent_adversarial_goal": "Fish for it.", "demographic": {{"age": "{variant}"}}}}"#
        )
    };
    let rows: Vec<String> = (0..24).map(row).collect();
    project.write(
        "benchmarks/flattery/scenarios.json",
        &format!("[{}]", rows.join(",")),
    );
    project
}

fn scripted(project: &Project, args: &[&str]) -> Ran {
    project.run(&[&["--scripted"], args].concat())
}

fn succeeds(project: &Project, args: &[&str]) -> Ran {
    let ran = scripted(project, args);
    assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    ran
}

fn read_json(project: &Project, name: &str) -> Value {
    serde_json::from_str(&project.read(name)).unwrap()
}

/// The conversations of a target in the folder of a part.
fn rows(project: &Project, part: &str) -> Vec<String> {
    let file =
        format!("shards/{part}/benchmarks/flattery/runs/scripted-careful/conversations.json");
    if !project.path(&file).exists() {
        return Vec::new();
    }
    let rows = read_json(project, &file);
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["conv_id"].as_str().unwrap().to_owned())
        .collect()
}

const PARTS: [&str; 4] = [
    "shards/1-of-4",
    "shards/2-of-4",
    "shards/3-of-4",
    "shards/4-of-4",
];

/// Runs all four parts.
fn all_parts(project: &Project) {
    for part in 1..=4 {
        succeeds(
            project,
            &["run", "flattery", "--shard", &format!("{part}/4")],
        );
    }
}

/// The command on the merged tree.
fn on_whole(project: &Project, args: &[&str]) -> Ran {
    scripted(
        project,
        &[&["--benchmarks", "whole/benchmarks"], args].concat(),
    )
}

/// The merged tree is the one of the run that was not split, byte for byte.
fn assert_whole(project: &Project) {
    tree::assert_same(
        &tree::read(&project.path("whole/benchmarks")),
        &tree::read(&project.path("benchmarks")),
    );
    // What the records say of it, but for ids and times.
    let known = |folder: &str| {
        let mut known = read_json(
            project,
            &format!("{folder}.probity/provenance/flattery.json"),
        );
        for target in known["targets"].as_object_mut().unwrap().values_mut() {
            for file in ["conversations", "scores", "judged"] {
                let file = target[file].as_object_mut().unwrap();
                file.remove("run_id");
                if let Some(replies) = file.get_mut("replies") {
                    *replies = replies["replies"].take();
                }
            }
        }
        known
    };
    assert_eq!(known("whole/"), known(""));
    let record = |folder: &str| {
        let runs = project.path(&format!("{folder}.probity/runs"));
        let mut runs: Vec<_> = std::fs::read_dir(runs).unwrap().flatten().collect();
        runs.sort_by_key(std::fs::DirEntry::file_name);
        let path = runs.last().unwrap().path().join("record.json");
        let mut record: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        record["run_uid"].take();
        record["_metadata"]["run"]["run_id"].take();
        record["_metadata"]["run"]["timestamp"].take();
        record
    };
    assert_eq!(record("whole/"), record(""));
}
