//! Folders that may not be written: reported before the first call, and nothing is changed.
//!
//! Permissions do not hold for root, so root runs the command as the user nobody here.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use common::{Project, Ran};

const NOBODY: &str = "65534";

/// Somebody for whom permissions count.
enum User {
    /// The user who runs the test.
    Own,
    /// Root starts the command as nobody, from a copy of the binary that nobody can reach.
    Nobody,
}

impl User {
    /// `None` when there is no way to be an ordinary user.
    fn ordinary() -> Option<Self> {
        let id = Command::new("id").arg("-u").output().unwrap();
        if String::from_utf8_lossy(&id.stdout).trim() != "0" {
            return Some(Self::Own);
        }
        let tried = Command::new("setpriv")
            .args([
                "--reuid",
                NOBODY,
                "--regid",
                NOBODY,
                "--clear-groups",
                "true",
            ])
            .stderr(Stdio::null())
            .status();
        tried
            .is_ok_and(|status| status.success())
            .then_some(Self::Nobody)
    }

    /// Grants the user everything on this project.
    fn settle(&self, project: &Project) {
        if matches!(self, Self::Nobody) {
            fs::copy(env!("CARGO_BIN_EXE_probity"), project.path("binary")).unwrap();
            let mut chown = Command::new("chown");
            chown.args(["-R", &format!("{NOBODY}:{NOBODY}")]);
            assert!(chown.arg(project.path("")).status().unwrap().success());
        }
    }

    fn run(&self, project: &Project, args: &[&str]) -> Ran {
        let binary = project.path("binary");
        let own = binary.to_string_lossy();
        let instead = r#"shift; exec "$0" "$@""#;
        let nobody = [
            "setpriv",
            "--reuid",
            NOBODY,
            "--regid",
            NOBODY,
            "--clear-groups",
            "sh",
            "-c",
            instead,
            &own,
        ];
        Ran::of(match self {
            Self::Own => project.command(args),
            Self::Nobody => project.launched(&nobody, args),
        })
    }
}

fn set_mode(project: &Project, folder: &str, mode: u32) {
    fs::set_permissions(project.path(folder), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folders_that_may_not_be_written_are_reported_and_nothing_is_changed() {
    let Some(user) = User::ordinary() else {
        eprintln!(
            "SKIPPED: root without setpriv (util-linux) cannot be an ordinary user, and may write everywhere"
        );
        return;
    };
    let project = Project::new();
    user.settle(&project);
    set_mode(&project, "", 0o555);
    let ran = user.run(&project, &["run"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err.contains("benchmarks") && ran.err.contains("Permission denied"),
        "{}",
        ran.err
    );
    set_mode(&project, "", 0o755);

    let first = user.run(&project, &["run"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let before = tree::read(&project.path("benchmarks"));
    for folder in [
        "benchmarks/sycophancy",
        "benchmarks/sycophancy/runs/scripted-careful",
        ".probity",
        ".probity/runs",
        ".probity/locks",
    ] {
        // The lock's file is there, and is opened as long as it may be written itself.
        if folder == ".probity/locks" {
            set_mode(&project, ".probity/locks/sycophancy.lock", 0o444);
        }
        set_mode(&project, folder, 0o555);
        let ran = user.run(&project, &["run", "--force"]);
        set_mode(&project, folder, 0o755);
        assert_eq!(ran.code, 3, "{folder}: {}", ran.err);
        let reported = ran.err.lines().any(|line| {
            line.starts_with("error: ") && line.contains(folder) && line.contains("ermission")
        });
        assert!(reported, "{folder}: {}", ran.err);
        assert!(
            !ran.out.contains("scripted-careful"),
            "{folder}: {}",
            ran.out
        );
        tree::assert_same(&tree::read(&project.path("benchmarks")), &before);
    }
    set_mode(&project, ".probity/locks/sycophancy.lock", 0o644);
    // Read-only files in a folder that may be written are replaced.
    set_mode(&project, "benchmarks/sycophancy/results.json", 0o444);
    let ran = user.run(&project, &["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &before);
}
