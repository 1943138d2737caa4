//! Commands that are killed: what they leave keeps the next one from nothing.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    thread::sleep,
    time::Duration,
};

use common::Project;

/// A run of scripted models that is large enough to be killed on its way out.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 6, num_samples: 4, turns: 2}\n",
    );
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\nmetrics: [{id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., examples: []}]\n",
    );
    project.succeeds(&["run", "b", "--scripted"]);
    project
}

/// Starts the command and kills it once `seen` says so, or after its end. Whether it was killed at work.
fn killed(project: &Project, args: &[&str], mut seen: impl FnMut() -> bool) -> bool {
    let mut command = project.command(args);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if seen() {
            child.kill().unwrap();
            return child.wait().unwrap().code().is_none();
        }
        sleep(Duration::from_micros(200));
    }
    false
}

/// Files and folders below `folder` whose name begins so.
fn named(project: &Project, begin: &str) -> Vec<PathBuf> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(begin)
    };
    project
        .files()
        .into_iter()
        .filter(|path| name(path))
        .collect()
}

/// A command that works into a place of its own, killed at several moments and then run to its end.
fn survives(project: &Project, args: &[&str], out: &str, left: &str) {
    let wanted = {
        project.succeeds(args);
        let files = tree::read(&project.path(out));
        std::fs::remove_dir_all(project.path(out)).unwrap();
        files
    };
    let mut at_work = 0;
    for moment in 0..5_u32 {
        let mut looks = moment * 4;
        at_work += u32::from(killed(project, args, || {
            // From the first trace of it on, a little later each time.
            let begun = !named(project, left).is_empty();
            looks = looks.saturating_sub(u32::from(begun));
            begun && looks == 0
        }));
        let whole = project.path(out).exists() && named(project, left).is_empty();
        if whole {
            // It came to its end before it was killed.
            std::fs::remove_dir_all(project.path(out)).unwrap();
        }
        let ran = project.run(args);
        assert_eq!(ran.code, 0, "{args:?}, moment {moment}: {}", ran.err);
        assert_eq!(named(project, left), Vec::<PathBuf>::new(), "{args:?}");
        tree::assert_same(&tree::read(&project.path(out)), &wanted);
        std::fs::remove_dir_all(project.path(out)).unwrap();
    }
    assert!(at_work > 0, "{args:?} was never killed at work");
}

#[test]
fn a_killed_rebuild_keeps_the_next_one_from_nothing() {
    let project = project();
    survives(
        &project,
        &["journal", "rebuild", "b", "--out", "rebuilt"],
        "rebuilt",
        ".rebuild-",
    );
}

#[test]
fn a_killed_export_keeps_the_next_one_from_nothing() {
    let project = project();
    survives(
        &project,
        &["export", "csv", "b", "--out", "exported"],
        "exported",
        ".probity-",
    );
}

#[test]
fn a_killed_import_keeps_the_next_one_from_nothing() {
    let project = project();
    std::fs::rename(project.path("benchmarks/b"), project.path("b")).unwrap();
    let args = ["import", "tree", "b", "--as", "theirs"];
    survives(&project, &args, "benchmarks/theirs", ".import-");
    // One of another name clears away what is left, too.
    while !killed(&project, &args, || !named(&project, ".import-").is_empty()) {
        std::fs::remove_dir_all(project.path("benchmarks/theirs")).unwrap();
    }
    project.succeeds(&["import", "tree", "b", "--as", "others"]);
    assert_eq!(named(&project, ".import-"), Vec::<PathBuf>::new());
}

/// What a kill between creating a file and naming it leaves, wherever a command writes.
#[test]
fn files_that_killed_commands_left_are_removed_by_the_next_one_there() {
    let project = project();
    let left = [
        "benchmarks/b/runs/scripted-careful/.probity-k1ll3d.tmp",
        "benchmarks/b/.export-k1ll3d.part",
        "kept/.probity-k1ll3d.tmp",
        ".probity-k1ll3d.tmp",
    ];
    let leave = || {
        for path in left {
            project.write(path, "unfinished");
        }
    };
    leave();
    let held = std::fs::File::open(project.path(left[0])).unwrap();
    held.lock().unwrap();
    project.succeeds(&["baseline", "b", "--out", "kept/baseline.json"]);
    project.succeeds(&["baseline", "b", "--out", "here.json"]);
    project.succeeds(&["run", "b", "--scripted"]);
    let here = |path: &&str| project.path(path).exists();
    let still: Vec<_> = left.into_iter().filter(here).collect();
    assert_eq!(still, [left[0]], "a program still writes it");
    drop(held);
    project.write(
        "labels.csv",
        &format!(
            "target,conv_id,metric_id,labeller,passed\nscripted-careful,{},m01,ann,yes\n",
            first_conversation(&project)
        ),
    );
    project.succeeds(&["label", "b", "--import", "labels.csv"]);
    assert!(!project.path(left[0]).exists());
}

fn first_conversation(project: &Project) -> String {
    let path = project.path("benchmarks/b/runs/scripted-careful/scores.json");
    let rows = std::fs::read_to_string(path).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    rows[0]["conv_id"].as_str().unwrap().to_owned()
}
