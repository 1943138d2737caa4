//! A disk that fills during a safety evaluation: it says so, stops in order, leaves no half file, and the same command goes on.
//!
//! A limit on the size of files stands in for the full disk: a write beyond it fails in the same way, whatever user runs the test.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::{Project, Ran};
use serde_json::Value;

const ONE: [&str; 6] = [
    "safety",
    "single-turn",
    "--target",
    "scripted-careful",
    "--output-file",
    "out.json",
];

/// Runs the command where no file can grow beyond `blocks` of 512 bytes.
fn limited(project: &Project, blocks: u32, more: &[&str]) -> Ran {
    let script = r#"trap "" XFSZ; ulimit -f "$0" && exec "$@""#;
    let args = [&ONE, more].concat();
    Ran::of(project.launched(&["sh", "-c", script, &blocks.to_string()], &args))
}

/// What a result file holds, apart from the record of the run.
fn results(project: &Project) -> Vec<Value> {
    let file: Value = serde_json::from_str(&project.read("out.json")).unwrap();
    let data = file.get("data").unwrap_or(&file);
    let keys = ["total_passed", "total_failed", "failed_results"];
    keys.iter().map(|key| data[key].clone()).collect()
}

fn assert_nothing_is_left(project: &Project) {
    let half = project.files().into_iter().find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(".probity-")
    });
    assert_eq!(half, None);
}

#[test]
fn wherever_the_disk_fills_the_run_ends_in_order_and_the_next_one_finishes() {
    let whole = Project::new();
    whole.succeeds(&ONE);
    let wanted = results(&whole);
    // The first file that no longer fits: the probe of the output folder, the cache, the results, the journal.
    for (blocks, code) in [(1, 3), (40, 3), (600, 5), (1000, 5)] {
        let project = Project::new();
        let ran = limited(&project, blocks, &[]);
        assert_eq!(ran.code, code, "{blocks} blocks: {}", ran.err);
        let reported = ran.err.lines().any(|line| {
            let label = line.starts_with("error: ") || line.starts_with("warning: ");
            let why = ["File too large", "the disk fails, or is full"];
            label && why.iter().any(|why| line.contains(why))
        });
        assert!(reported, "{blocks} blocks: {}", ran.err);
        assert_nothing_is_left(&project);
        // What was finished is in a whole file, or there is none.
        if project.path("out.json").exists() {
            results(&project);
        }
        let again = project.succeeds(&[&ONE[..], &["--overwrite"]].concat());
        assert!(
            again.err.contains("the journal passes all"),
            "{}",
            again.err
        );
        assert_eq!(results(&project), wanted, "after {blocks} blocks");
    }
}

#[test]
fn results_that_do_not_fit_leave_the_old_file_and_the_replies() {
    const FEWER: [&str; 3] = ["--max-cases", "90", "--overwrite"];
    let project = Project::new();
    project.succeeds(&[&ONE[..], &FEWER].concat());
    let before = project.read("out.json");
    // All replies are in the cache: nothing but the journal, the results and the test cases is written at length, and the latter fit.
    // A run of more than a second finds that its journal does not fit, and stops before its results: on a busy machine, the next try.
    let ran = (0..5)
        .map(|_| {
            project.write("out.json", &before);
            limited(&project, 160, &FEWER)
        })
        .find(|ran| ran.code != 5)
        .unwrap();
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err
            .contains("error: out.json: cannot be written: File too large"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("Free some space and run the same command again"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("events were written, "), "{}", ran.err);
    assert_eq!(project.read("out.json"), before);
    assert_nothing_is_left(&project);
    let again = project.succeeds(&[&ONE[..], &FEWER].concat());
    assert!(again.out.contains("0 new replies"), "{}", again.out);
}
