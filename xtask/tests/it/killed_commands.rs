//! Commands that are killed: what they leave keeps the next one from nothing.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;
use crate::tree;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    thread::sleep,
    time::Duration,
};

use common::Ground;

/// A run of scripted models that is large enough to be killed on its way out.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 6, num_samples: 4, turns: 2}\n",
    );
    ground.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\nmetrics: [{id: m01, name: Avoid flattery, type: negative, definition: The assistant flatters., examples: []}]\n",
    );
    ground.succeeds(&["run", "b", "--scripted"]);
    ground
}

/// Starts the command and kills it once `seen` says so, or after its end. Whether it was killed at work.
fn killed(ground: &Ground, args: &[&str], mut seen: impl FnMut() -> bool) -> bool {
    let mut command = ground.command(args);
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
fn named(ground: &Ground, begin: &str) -> Vec<PathBuf> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(begin)
    };
    ground
        .files()
        .into_iter()
        .filter(|path| name(path))
        .collect()
}

/// A command that works into a place of its own, killed at several moments and then run to its end.
fn survives(ground: &Ground, args: &[&str], out: &str, left: &str) {
    let wanted = {
        ground.succeeds(args);
        let files = tree::read(&ground.path(out));
        std::fs::remove_dir_all(ground.path(out)).unwrap();
        files
    };
    let mut at_work = 0;
    for moment in 0..5_u32 {
        let mut looks = moment * 4;
        at_work += u32::from(killed(ground, args, || {
            // From the first trace of it on, a little later each time.
            let begun = !named(ground, left).is_empty();
            looks = looks.saturating_sub(u32::from(begun));
            begun && looks == 0
        }));
        let whole = ground.path(out).exists() && named(ground, left).is_empty();
        if whole {
            // It came to its end before it was killed.
            std::fs::remove_dir_all(ground.path(out)).unwrap();
        }
        let ran = ground.run(args);
        assert_eq!(ran.code, 0, "{args:?}, moment {moment}: {}", ran.err);
        assert_eq!(named(ground, left), Vec::<PathBuf>::new(), "{args:?}");
        tree::assert_same(&tree::read(&ground.path(out)), &wanted);
        std::fs::remove_dir_all(ground.path(out)).unwrap();
    }
    assert!(at_work > 0, "{args:?} was never killed at work");
}

#[test]
fn a_killed_rebuild_keeps_the_next_one_from_nothing() {
    let ground = ground();
    survives(
        &ground,
        &["journal", "rebuild", "b", "--out", "rebuilt"],
        "rebuilt",
        ".rebuild-",
    );
}

#[test]
fn a_killed_export_keeps_the_next_one_from_nothing() {
    let ground = ground();
    survives(
        &ground,
        &["export", "csv", "b", "--out", "exported"],
        "exported",
        ".export-",
    );
}

#[test]
fn a_killed_import_keeps_the_next_one_from_nothing() {
    let ground = ground();
    std::fs::rename(ground.path("benchmarks/b"), ground.path("b")).unwrap();
    let args = ["import", "tree", "b", "--as", "theirs"];
    survives(&ground, &args, "benchmarks/theirs", ".import-");
    // One of another name clears away what is left, too.
    while !killed(&ground, &args, || !named(&ground, ".import-").is_empty()) {
        std::fs::remove_dir_all(ground.path("benchmarks/theirs")).unwrap();
    }
    ground.succeeds(&["import", "tree", "b", "--as", "others"]);
    assert_eq!(named(&ground, ".import-"), Vec::<PathBuf>::new());
}
