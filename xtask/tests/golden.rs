//! The shipped benchmark on the scripted models gives the same tree every time, byte for byte.
//!
//! When a change is meant to alter the tree, write the new one with `BLESS=1 cargo test -p xtask --test golden` and look at
//! the difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod tree;

use std::{fs, path::Path, process::Command};

#[test]
fn the_demonstration_gives_the_golden_tree() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["run", "--quiet"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let have = folder.path().join("benchmarks");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden");
    if std::env::var_os("BLESS").is_some() {
        let _ = fs::remove_dir_all(&golden);
        for (name, bytes) in tree::read(&have) {
            let path = golden.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    tree::assert_same(&tree::read(&have), &tree::read(&golden));
}
