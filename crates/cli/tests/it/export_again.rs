//! Exports of a run and of the same run from the cache: the second is the first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::{collections::BTreeMap, fs, path::Path};

use common::Project;
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
fn exports(project: &Project, to: &str) -> BTreeMap<String, String> {
    for args in [
        &["eee"][..],
        &["inspect", "--log-format", "json"],
        &["junit"],
        &["csv"],
        &["jsonl"],
    ] {
        let out = format!("{to}/{}", args[0]);
        fs::create_dir_all(project.path(to)).unwrap();
        let mut all = vec!["export"];
        all.extend(args);
        all.extend(["flattery", "--out", &out]);
        project.succeeds(&all);
    }
    files(&project.path(to))
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
    let project = Project::new();
    project.served_by(&server, "");
    project.succeeds(&["run"]);
    let first = exports(&project, "first");
    assert!(first.len() >= 8, "{:?}", first.keys());
    project.succeeds(&["run"]);
    project.succeeds(&["run"]);
    let again = exports(&project, "again");
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
    let project = Project::new();
    project.served_by(&server, "");
    project.succeeds(&["run"]);
    fs::remove_dir_all(project.path(".probity/runs")).unwrap();
    project.succeeds(&["run"]);
    project.succeeds(&[
        "export",
        "inspect",
        "flattery",
        "--log-format",
        "json",
        "--out",
        "logs",
    ]);
    let mut calls = 0;
    for text in files(&project.path("logs")).values() {
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
    let project = Project::new();
    project.served_by(&server, "");
    let id = |project: &Project, to: &str| {
        project.succeeds(&["export", "eee", "flattery", "--out", to]);
        let files = files(&project.path(to));
        let ids = files.values().filter_map(|text| {
            let value: Value = serde_json::from_str(text).ok()?;
            Some(value["evaluation_id"].as_str()?.to_owned())
        });
        ids.collect::<Vec<_>>()
    };
    project.succeeds(&["run"]);
    let first = id(&project, "first");
    assert!(!first.is_empty());
    // Another sample of each scenario: the first one comes from the cache.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    project.succeeds(&["run", "--num-samples", "2"]);
    let second = id(&project, "second");
    assert!(
        first.iter().all(|id| !second.contains(id)),
        "{first:?} {second:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_one_sample_are_complete_after_a_run_of_more() {
    let server = scripted_llm::ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    project.succeeds(&["run"]);
    project.succeeds(&["export", "jsonl", "--strict", "--out", "first"]);
    project.succeeds(&["run", "--num-samples", "3"]);
    project.succeeds(&["export", "jsonl", "--strict", "--out", "more"]);
    let first = project.read("first/runs.jsonl");
    assert_ne!(project.read("more/runs.jsonl"), first);
    project.succeeds(&["run"]);
    project.succeeds(&["export", "jsonl", "--strict", "--out", "again"]);
    assert_eq!(project.read("again/runs.jsonl"), first);
}
