//! Exports of a run and of the same run from the cache: the second is the first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::{collections::BTreeMap, fs, path::Path};

use common::Ground;
use serde_json::Value;

/// Every file under `folder` with its text.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// All formats, of the run as it is now.
fn exports(ground: &Ground, to: &str) -> BTreeMap<String, String> {
    for args in [
        &["eee"][..],
        &["inspect", "--log-format", "json"],
        &["junit"],
        &["csv"],
        &["jsonl"],
    ] {
        let out = format!("{to}/{}", args[0]);
        fs::create_dir_all(ground.path(to)).unwrap();
        let mut all = vec!["export"];
        all.extend(args);
        all.extend(["flattery", "--out", &out]);
        ground.succeeds(&all);
    }
    files(&ground.path(to))
}

/// When an export was made is not of the run.
fn without_the_time_of_export(text: &str) -> String {
    let lines = text.lines();
    let lines = lines.filter(|line| !line.contains("retrieved_timestamp"));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_the_cache_changes_no_export() {
    let server = scripted_llm::ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "");
    ground.succeeds(&["run"]);
    let first = exports(&ground, "first");
    assert!(first.len() >= 8, "{:?}", first.keys());
    ground.succeeds(&["run"]);
    ground.succeeds(&["run"]);
    let again = exports(&ground, "again");
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        again.keys().collect::<Vec<_>>()
    );
    for (name, text) in &first {
        let (had, has) = (
            without_the_time_of_export(text),
            without_the_time_of_export(&again[name]),
        );
        let first_difference = had.lines().zip(has.lines()).find(|(a, b)| a != b);
        assert!(had == has, "{name}: {first_difference:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_from_the_cache_keep_their_time_without_the_records_of_the_first_run() {
    let server = scripted_llm::ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "");
    ground.succeeds(&["run"]);
    fs::remove_dir_all(ground.path(".probity/runs")).unwrap();
    ground.succeeds(&["run"]);
    ground.succeeds(&[
        "export",
        "inspect",
        "flattery",
        "--log-format",
        "json",
        "--out",
        "logs",
    ]);
    let mut calls = 0;
    for text in files(&ground.path("logs")).values() {
        let log: Value = serde_json::from_str(text).unwrap();
        for sample in log["samples"].as_array().unwrap() {
            for event in sample["events"].as_array().unwrap() {
                if event["event"] == "model" {
                    calls += 1;
                    let time = event["output"]["time"].as_f64();
                    assert!(time.is_some_and(|time| time > 0.0), "{event}");
                }
            }
        }
    }
    assert!(calls > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_made_something_new_has_an_identity_of_its_own() {
    let server = scripted_llm::ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "");
    let id = |ground: &Ground, to: &str| {
        ground.succeeds(&["export", "eee", "flattery", "--out", to]);
        let files = files(&ground.path(to));
        let ids = files.values().filter_map(|text| {
            let value: Value = serde_json::from_str(text).ok()?;
            Some(value["evaluation_id"].as_str()?.to_owned())
        });
        ids.collect::<Vec<_>>()
    };
    ground.succeeds(&["run"]);
    let first = id(&ground, "first");
    assert!(!first.is_empty());
    // Another sample of each scenario: the first one comes from the cache.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    ground.succeeds(&["run", "--num-samples", "2"]);
    let second = id(&ground, "second");
    assert!(
        first.iter().all(|id| !second.contains(id)),
        "{first:?} {second:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_one_sample_are_complete_after_a_run_of_more() {
    let server = scripted_llm::ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "");
    ground.succeeds(&["run"]);
    ground.succeeds(&["export", "jsonl", "--strict", "--out", "first"]);
    ground.succeeds(&["run", "--num-samples", "3"]);
    ground.succeeds(&["export", "jsonl", "--strict", "--out", "more"]);
    let first = ground.read("first/runs.jsonl");
    assert_ne!(ground.read("more/runs.jsonl"), first);
    ground.succeeds(&["run"]);
    ground.succeeds(&["export", "jsonl", "--strict", "--out", "again"]);
    assert_eq!(ground.read("again/runs.jsonl"), first);
}
