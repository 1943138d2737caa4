//! A cache and a tree that an earlier version wrote: the same run asks for nothing and writes the same files.
//!
//! `fixtures/frozen` is never rewritten. Where this fails, a key of the cache has changed, and users would pay twice.

use std::{fs, path::Path};

use serde_json::Value;

use crate::common::Project;

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

/// A run over a copy of the frozen folder, with the tree or with the cache alone: no call is made.
fn asks_for_nothing(keep_the_tree: bool) {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/frozen");
    let project = Project::new();
    copy(&frozen, &project.path("."));
    fs::create_dir(project.path(".probity")).unwrap();
    fs::rename(
        project.path("cache.sqlite"),
        project.path(".probity/cache.sqlite"),
    )
    .unwrap();
    if !keep_the_tree {
        fs::remove_dir_all(project.path("benchmarks/pressure/runs")).unwrap();
        fs::remove_file(project.path("benchmarks/pressure/results.json")).unwrap();
    }
    let ran = project.succeeds(&["run", "pressure", "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["replies"]["asked"], 0, "{summary:#}");
    for file in [
        "results.json",
        "runs/agreeable/conversations.json",
        "runs/agreeable/scores.json",
    ] {
        let file = format!("benchmarks/pressure/{file}");
        assert_eq!(
            project.read(&file),
            fs::read_to_string(frozen.join(&file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn a_tree_and_its_cache() {
    asks_for_nothing(true);
}

#[test]
fn a_cache_alone() {
    asks_for_nothing(false);
}
