//! The git revision of the folder that a run is started in.

use std::process::Command;

use serde_json::{Value, json};

/// `{revision, dirty}`, or null without git or a repository.
pub fn state() -> Value {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match git(&["rev-parse", "HEAD"]) {
        Some(revision) => {
            let dirty = git(&["status", "--porcelain", "--untracked-files=no"])
                .map(|changes| !changes.is_empty());
            json!({"revision": revision, "dirty": dirty})
        }
        None => Value::Null,
    }
}
