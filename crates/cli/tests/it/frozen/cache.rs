//! Caches and trees that earlier versions wrote: the same run calls no model and writes the same files.
//!
//! `fixtures/frozen` is never rewritten. Where this fails, a key of the cache has changed, and users would pay twice.
//!
//! Each folder of it holds a project: its configuration, its benchmarks or test cases with the results, and in `state` what the
//! project's `.probity` held. `single-judge` is older than the record of provenance, so it has none.

use std::{
    fs,
    path::{Path, PathBuf},
};

use schema::safety::results::SafetyFile;
use serde_json::Value;

use crate::{common::Project, safety_golden::without_run};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn frozen(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/frozen")
        .join(name)
}

/// A copy of the frozen project `name`.
pub(crate) fn project(name: &str) -> Project {
    let project = Project::new();
    copy(&frozen(name), &project.path("."));
    fs::rename(project.path("state"), project.path(".probity")).unwrap();
    project
}

/// What is left of the frozen project beside its cache.
#[derive(Clone, Copy)]
enum Left {
    /// Tree and record of provenance.
    All,
    /// The tree, as after a checkout from version control, which holds no `.probity` but a cache that was restored.
    NoProvenance,
    /// Configuration, description and scenarios.
    CacheAlone,
}

fn runs_without_a_call(name: &str, benchmark: &str, targets: &[&str], left: Left) {
    let project = project(name);
    let provenance = project.path(".probity/provenance");
    if !matches!(left, Left::All) && provenance.exists() {
        fs::remove_dir_all(provenance).unwrap();
    }
    let tree = format!("benchmarks/{benchmark}");
    if matches!(left, Left::CacheAlone) {
        fs::remove_dir_all(project.path(&format!("{tree}/runs"))).unwrap();
        fs::remove_file(project.path(&format!("{tree}/results.json"))).unwrap();
    }
    let ran = project.succeeds(&["run", benchmark, "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["replies"]["asked"], 0, "{summary:#}");
    let rows = targets.iter().flat_map(|target| {
        ["conversations", "scores"].map(|rows| format!("{tree}/runs/{target}/{rows}.json"))
    });
    for file in rows.chain([format!("{tree}/results.json")]) {
        let before = fs::read_to_string(frozen(name).join(&file)).unwrap();
        assert_eq!(project.read(&file), before, "{name}: {file}");
    }
}

#[test]
fn a_tree_and_its_cache() {
    runs_without_a_call("single-judge", "pressure", &["agreeable"], Left::All);
}

#[test]
fn a_cache_alone() {
    runs_without_a_call("single-judge", "pressure", &["agreeable"], Left::CacheAlone);
}

#[test]
fn targets_with_tools() {
    for left in [Left::All, Left::NoProvenance, Left::CacheAlone] {
        let targets = ["careful", "agreeable"];
        runs_without_a_call("agentic", "delegated-actions", &targets, left);
    }
}

/// Three judges of yes-or-no and scale metrics, with repeated and probed verdicts, judges of the user's messages and of realism,
/// variants, and two samples.
#[test]
fn a_panel_and_all_further_questions() {
    for left in [Left::All, Left::NoProvenance, Left::CacheAlone] {
        runs_without_a_call("panel", "pressure", &["agreeable"], left);
    }
}

fn evaluates_without_a_call(mode: &str) {
    let name = format!("safety-{mode}");
    let project = project(&name);
    let command = format!("{mode}-turn");
    let args = ["safety", &command, "--output-file", "again.json", "--json"];
    let ran = project.succeeds(&args);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["replies"]["asked"], 0, "{summary:#}");
    // Rates are statistics, which may be computed by better methods; rows may not change.
    let rows = |text: &str| {
        let file: Value = serde_json::from_slice(&without_run(text)).unwrap();
        file.pointer("/data").cloned().unwrap_or(file)
    };
    let (mut again, mut before) = (
        rows(&project.read("again.json")),
        rows(&project.read("safety.json")),
    );
    for file in [&mut again, &mut before] {
        let details = file["probity"].as_object_mut().unwrap();
        assert!(details.remove("rates").is_some());
    }
    assert_eq!(again, before);
    assert!(SafetyFile::read("again.json", &project.read("again.json")).is_ok());
}

#[test]
fn a_safety_evaluation_of_single_prompts() {
    evaluates_without_a_call("single");
}

#[test]
fn a_safety_evaluation_of_conversations() {
    evaluates_without_a_call("multi");
}
