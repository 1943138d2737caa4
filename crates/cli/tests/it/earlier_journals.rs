//! Journals of formats 1.0 and 1.1 in `fixtures/journal/earlier`: every command says of them what it said when they were written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::Project;

fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/journal/earlier")
        .join(kind)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => fs::copy(entry.path(), to).map(|_| ()).unwrap(),
        }
    }
}

/// A folder as the runs left it, and the journals in it.
fn project(kind: &str) -> (Project, Vec<String>) {
    let project = Project::new();
    let fixture = fixture(kind);
    copy(&fixture, &project.path(""));
    copy(&fixture.join("runs"), &project.path(".probity/runs"));
    let mut journals = Vec::new();
    for run in fs::read_dir(fixture.join("runs")).unwrap() {
        let run = run.unwrap().file_name().into_string().unwrap();
        journals.push(format!(".probity/runs/{run}/journal-{run}.jsonl"));
    }
    (project, journals)
}

#[test]
fn check_stats_scores_and_show_say_what_they_said() {
    for kind in [
        "behavioural",
        "agentic",
        "safety",
        "behavioural-1.1",
        "safety-1.1",
    ] {
        let (project, journals) = project(kind);
        for journal in &journals {
            let name = Path::new(journal).file_stem().unwrap().to_str().unwrap();
            for command in ["check", "stats", "scores", "show"] {
                let ran = project.run(&["journal", command, journal]);
                assert_eq!(ran.code, 0, "{journal}: {command}: {}", ran.err);
                let path = fixture(kind).join(format!("expected/{name}.{command}.txt"));
                let expected = fs::read_to_string(path).unwrap();
                assert_eq!(ran.out, expected, "{journal}: {command}");
            }
        }
    }
}

/// A rebuilt file without `_sample`, which conversations say beside `sample` now.
fn without_second_sample(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines
        .filter(|line| !line.trim_start().starts_with("\"_sample\":"))
        .collect()
}

#[test]
fn the_tree_is_rebuilt_from_them() {
    for (kind, benchmark, files) in [
        ("behavioural", "hold", 8),
        ("agentic", "delegate", 7),
        ("behavioural-1.1", "hold", 7),
    ] {
        let (project, journals) = project(kind);
        let ran = project.run(&["journal", "rebuild", &journals[0], "--out", "again"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let mut count = 0;
        let mut folders = vec![project.path("again")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(project.path("again")).unwrap();
                let tree = fixture(kind).join("benchmarks").join(benchmark).join(name);
                let [again, tree] = [&path, &tree]
                    .map(|path| without_second_sample(&fs::read_to_string(path).unwrap()));
                assert_eq!(again, tree, "{path:?}");
                count += 1;
            }
        }
        assert_eq!(count, files, "{kind}");
    }
}

#[test]
fn exports_find_each_call_of_a_conversation_in_them() {
    for kind in ["behavioural", "behavioural-1.1"] {
        let (project, _) = project(kind);
        exports_find_each_call(&project);
    }
}

fn exports_find_each_call(project: &Project) {
    project.succeeds(&[
        "export",
        "inspect",
        "hold",
        "--log-format",
        "json",
        "--out",
        "logs",
    ]);
    let mut calls = 0;
    for log in fs::read_dir(project.path("logs")).unwrap() {
        let text = fs::read_to_string(log.unwrap().path()).unwrap();
        let log: serde_json::Value = serde_json::from_str(&text).unwrap();
        for sample in log["samples"].as_array().unwrap() {
            let events = sample["events"].as_array().unwrap();
            for event in events.iter().filter(|event| event["event"] == "model") {
                calls += 1;
                let time = event["output"]["time"].as_f64();
                assert!(time.is_some_and(|time| time > 0.0), "{event}");
            }
        }
    }
    assert!(calls >= 4, "{calls}");
}
