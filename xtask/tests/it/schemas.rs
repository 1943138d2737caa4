//! `cargo xtask schemas`.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// Runs `cargo xtask schemas` in `folder`; returns its exit code, standard output and standard error.
fn schemas(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("schemas")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn the_published_schemas_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (code, out, err) = schemas(root, &["--check"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn they_are_written_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| schemas(folder.path(), args);
    let (code, out, _) = run(&["--check", "--out", "s"]);
    assert_eq!(code, 1);
    assert!(out.contains("not current: s/scores.schema.json"), "{out}");
    assert!(!folder.path().join("s").exists());
    assert_eq!(run(&["--out", "s"]).0, 0);
    let (code, out, _) = run(&["--check", "--out", "s"]);
    assert_eq!((code, out.as_str()), (0, "33 schemas are current\n"));
    fs::write(folder.path().join("s/old.schema.json"), "{}").unwrap();
    fs::write(folder.path().join("s/scores.schema.json"), "{}").unwrap();
    let (code, out, err) = run(&["--check", "--out", "s"]);
    assert_eq!(code, 1);
    assert!(out.contains("unknown kind: s/old.schema.json"), "{out}");
    assert!(err.contains("run `cargo xtask schemas`"), "{err}");
}
