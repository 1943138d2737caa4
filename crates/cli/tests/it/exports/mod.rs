//! Runs to export, and exports to look into.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "each test file uses its own part, and a test that cannot set up its project fails"
)]

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::common::{Project, Ran};

/// All formats.
pub const FORMATS: [&str; 6] = ["eee", "inspect", "junit", "csv", "jsonl", "summary"];

/// The content of every file below `folder`, by its path in there.
pub fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    if folder.exists() {
        walk(folder, folder, &mut found);
    }
    found
}

/// The rows of the instance files of an export, in the order of the files' names.
pub fn rows(project: &Project, out: &str) -> Vec<Value> {
    let files = content(&project.path(out));
    let samples = files
        .iter()
        .filter(|(name, _)| name.ends_with("_samples.jsonl"));
    samples
        .flat_map(|(_, text)| {
            String::from_utf8(text.clone())
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect()
}

/// The aggregate files of an export.
pub fn aggregates(project: &Project, out: &str) -> Vec<Value> {
    let files = content(&project.path(out));
    let aggregates = files.iter().filter(|(name, _)| name.ends_with(".json"));
    aggregates
        .map(|(_, text)| serde_json::from_slice(text).unwrap())
        .collect()
}

/// Standard output as JSON.
pub fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// A project with the demonstration, run.
pub fn demonstration() -> Project {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    project
}

/// A benchmark that was written by hand, with one target and the rows given.
pub fn by_hand(model: &str, conversations: &Value, scores: Option<&Value>) -> Project {
    let project = Project::new();
    project.write(
        "benchmarks/hand/benchmark.yaml",
        "name: hand\ndescription: d\nmetrics:\n  - {id: m01, name: Avoid flattery, type: negative, definition: It flatters.}\n",
    );
    let mut rows = conversations.clone();
    let mut scenarios = Vec::new();
    for row in rows.as_array_mut().unwrap() {
        let id = row["id"].clone();
        scenarios.push(json!({"id": id, "metric_id": "m01", "persona": "p", "user_goal": "g"}));
        row["metric_id"] = "m01".into();
        row["persona"] = "p".into();
        row["user_goal"] = "g".into();
        row["target"] = json!({"id": "t", "model": model});
        row["sample"] = 0.into();
        row["conv_id"] = format!("{}__t", id.as_str().unwrap()).into();
    }
    project.write(
        "benchmarks/hand/scenarios.json",
        &Value::from(scenarios).to_string(),
    );
    project.write(
        "benchmarks/hand/runs/t/conversations.json",
        &rows.to_string(),
    );
    if let Some(scores) = scores {
        project.write("benchmarks/hand/runs/t/scores.json", &scores.to_string());
    }
    project
}

/// A transcript: user and target in turn.
pub fn said(texts: &[&str]) -> Value {
    let turns = texts.iter().enumerate();
    turns.map(|(at, text)| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text})).collect()
}

/// A score row of the target `t`.
pub fn judged(id: &str, passed: Option<bool>, why: &str) -> Value {
    json!({
        "id": id, "metric_id": "m01", "metric_name": "Avoid flattery", "metric_type": "negative", "target_model": "t",
        "conv_id": format!("{id}__t"), "present": passed.map(|passed| !passed), "passed": passed,
        "score": passed.map(u8::from), "justification": why, "sample": 0,
    })
}

/// How the calls of all conversations of an export are known: cached, with a time.
pub fn calls(project: &Project, out: &str) -> Vec<(bool, bool)> {
    let text = project.read(&format!("{out}/conversations.jsonl"));
    let rows = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls: Vec<Value> = rows
        .flat_map(|row| row["calls"].as_array().unwrap().clone())
        .collect();
    calls
        .iter()
        .filter(|call| call.get("error").is_none())
        .map(|call| (call["cached"] == true, call.get("run_time").is_some()))
        .collect()
}
