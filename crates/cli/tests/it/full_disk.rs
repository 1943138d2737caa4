//! A disk that fills while the command writes: it says so, stops in order, leaves every file whole, and the same command goes on.
//!
//! A limit on the size of files stands in for the full disk: a write beyond it fails in the same way, whatever user runs the test.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{collections::BTreeMap, fs};

use common::{Project, Ran};
use serde_json::{Value, json};

/// Runs the command where no file can grow beyond `blocks` of 512 bytes.
fn limited(project: &Project, blocks: u32, args: &[&str]) -> Ran {
    let script = r#"trap "" XFSZ; ulimit -f "$0" && exec "$@""#;
    Ran::of(project.launched(&["sh", "-c", script, &blocks.to_string()], args))
}

/// The tree of the demonstration, which the test `golden` compares with the golden one.
fn undisturbed() -> BTreeMap<String, Vec<u8>> {
    let project = Project::new();
    assert_eq!(project.run(&["run", "--quiet"]).code, 0);
    tree::read(&project.path("benchmarks"))
}

/// Fails unless every file of the tree is whole, and none is left that is not finished.
fn assert_readable(project: &Project) {
    let benchmarks = project.path("benchmarks");
    if !benchmarks.exists() {
        return;
    }
    for (name, bytes) in tree::read(&benchmarks) {
        assert!(!name.contains(".probity-"), "{name} was left behind");
        let text = String::from_utf8(bytes).unwrap();
        if name.ends_with(".json") {
            serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        } else {
            serde_saphyr::from_str::<Value>(&text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn wherever_the_disk_fills_the_run_ends_in_order_and_the_next_one_finishes() {
    // Each is the size at which another file is the first that no longer fits: the copied benchmark.yaml, the records of the
    // run, the cache, then cache and journal in the middle of the run.
    let wanted = undisturbed();
    for (blocks, code) in [(1, 3), (8, 3), (40, 3), (110, 1), (140, 1), (230, 1)] {
        let project = Project::new();
        let ran = limited(&project, blocks, &["run"]);
        assert_eq!(ran.code, code, "{blocks} blocks: {}", ran.err);
        let reported = ran.err.lines().any(|line| {
            let named = line.contains("benchmarks/sycophancy") || line.contains(".probity/");
            let label = line.starts_with("error: ") || line.starts_with("warning: ");
            let why =
                line.contains("File too large") || line.contains("the disk fails, or is full");
            label && named && why
        });
        assert!(reported, "{blocks} blocks: {}", ran.err);
        assert_readable(&project);

        let again = project.run(&["run"]);
        assert_eq!(again.code, 0, "after {blocks} blocks: {}", again.err);
        tree::assert_same(&tree::read(&project.path("benchmarks")), &wanted);
    }
}

#[test]
fn a_journal_that_does_not_fit_is_reported_and_the_run_is_not_called_complete() {
    let project = Project::new();
    assert_eq!(project.run(&["run", "--quiet"]).code, 0);
    // All replies are in the cache, so that nothing but the records of the run is written at length.
    let ran = limited(&project, 100, &["run", "--quiet"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("the journal is not complete: ")
            && ran.err.contains("were lost. Make room or mend the disk"),
        "{}",
        ran.err
    );
    assert!(
        !ran.err.contains("some replies could not be saved"),
        "{}",
        ran.err
    );
    assert_readable(&project);
    assert_eq!(project.run(&["run", "--quiet"]).code, 0);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &undisturbed());
}

#[cfg(target_os = "linux")]
#[test]
fn rows_that_do_not_fit_stop_the_run_and_leave_the_tree_alone() {
    let project = Project::new();
    assert_eq!(project.run(&["run", "--quiet"]).code, 0);
    let rows = project.path(".probity/spool/sycophancy/scripted-careful.conversations");
    fs::create_dir_all(rows.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/full", rows).unwrap();

    let ran = project.run(&["run", "--quiet"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains(
            "error: sycophancy: .probity/spool/sycophancy/scripted-careful.conversations: cannot be written: No space left"
        ) && ran.err.contains("Free some space and run the same command again"),
        "{}",
        ran.err
    );
    assert_readable(&project);
    let careful = "sycophancy/runs/scripted-careful/conversations.json";
    let (have, wanted) = (tree::read(&project.path("benchmarks")), undisturbed());
    assert!(have[careful] == wanted[careful], "{careful} was changed");

    assert_eq!(project.run(&["run", "--quiet"]).code, 0);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &wanted);
}

#[test]
fn results_that_do_not_fit_leave_the_old_ones() {
    let project = Project::new();
    project.write(
        "benchmarks/big/benchmark.yaml",
        "name: big\nmetrics: [{id: m01, name: N, type: positive, definition: D.}]\n",
    );
    project.write(
        "config.yaml",
        "targets: [{id: t, model: m, source: ollama}]\n",
    );
    let score = |number: usize| {
        let id = format!("m01_s{number:04}_v01");
        json!({
            "id": id, "metric_id": "m01", "metric_name": "N", "metric_type": "positive", "target_model": "t",
            "conv_id": format!("{id}__t"), "present": true, "passed": true, "score": 1, "justification": "x", "sample": 0,
        })
    };
    let scores = |count| json!((1..=count).map(score).collect::<Vec<_>>()).to_string();
    project.write("benchmarks/big/runs/t/scores.json", &scores(1));
    assert_eq!(project.run(&["aggregate", "big"]).code, 0);
    let before = project.read("benchmarks/big/results.json");

    project.write("benchmarks/big/runs/t/scores.json", &scores(2_000));
    let ran = limited(&project, 200, &["aggregate", "big"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err
            .contains("error: big: benchmarks/big/results.json: cannot be written: File too large"),
        "{}",
        ran.err
    );
    assert_readable(&project);
    assert_eq!(project.read("benchmarks/big/results.json"), before);
    assert_eq!(project.run(&["aggregate", "big"]).code, 0);
    assert!(project.read("benchmarks/big/results.json").len() > 100 * 1024);
}
