//! The shipped benchmarks on the scripted models give the same trees every time, byte for byte.
//!
//! When a change is meant to alter a tree, write the new ones with `BLESS=1 cargo test -p probity-cli --test it golden` and look at
//! the difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::tree;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The golden tree of a benchmark.
fn golden(benchmark: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/golden")
        .join(benchmark)
}

fn gives_the_golden_tree(args: &[&str], benchmark: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let have = tree::read(&folder.path().join("benchmarks").join(benchmark));
    let golden = golden(benchmark);
    if std::env::var_os("BLESS").is_some() {
        let _ = fs::remove_dir_all(&golden);
        for (name, bytes) in &have {
            let path = golden.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    tree::assert_same(&have, &tree::read(&golden));
}

#[test]
fn the_demonstration() {
    gives_the_golden_tree(&["run", "--quiet"], "sycophancy");
}

#[test]
fn the_agentic_benchmark() {
    gives_the_golden_tree(
        &["run", "delegated-actions", "--quiet"],
        "delegated-actions",
    );
}
