//! `cargo xtask bench`: what it refuses. Its figures are no test.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::process::Command;

#[test]
fn benchmarks_of_nothing_are_refused_as_other_usage_is() {
    let folder = tempfile::tempdir().unwrap();
    for flag in [
        "--in-flight",
        "--rounds",
        "--export",
        "--journal",
        "--scale",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["bench", flag, "0"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag}: {stderr}");
        assert_eq!(stderr, format!("error: {flag} must be at least 1, not 0\n"));
        assert!(output.stdout.is_empty());
    }
}
