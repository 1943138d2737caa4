//! `cargo xtask chaos` notices each promise that is broken. The command that it tries is a script, which runs the real one and then breaks one thing.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// Removes the first row of a list.
const WITHOUT_FIRST: &str = "NR == 1 || gone { print } /^  },$/ { gone = 1 }";
/// Writes the first row of a list twice.
const FIRST_TWICE: &str = "NR > 1 && !done { row = row $0 \"\\n\" } { print } /^  },$/ && !done { printf \"%s\", row; done = 1 }";
const CAREFUL: &str = "benchmarks/bench/runs/careful";
const JOURNAL: &str = "$(ls -d .probity/runs/*/journal-*.jsonl | tail -n 1)";

/// A line of shell that rewrites a file by a program of awk.
fn rewrite(file: &str, program: &str) -> String {
    format!("f={file}; awk '{program}' \"$f\" >\"$f.new\" && mv \"$f.new\" \"$f\"\n")
}

/// One fault and its two runs: the tried command does `before` ahead of the second run of a project, and `after` behind it. Returns the exit code
/// and what was printed.
fn chaos(before: &str, after: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("command");
    let real = env!("CARGO_BIN_EXE_xtask");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = run ] || exec {real} \"$@\"\necho >>runs\nruns=$(wc -l <runs)\n\
         if [ \"$runs\" -eq 2 ]; then\n:\n{before}\nfi\n{real} \"$@\"\ncode=$?\n\
         if [ \"$runs\" -eq 2 ]; then\n:\n{after}\nfi\nexit $code\n"
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(real)
        .args(["chaos", "faults", "--seconds", "1", "--program"])
        .arg(&script)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

/// What is broken is named.
fn names(broken: &str, (code, printed): (Option<i32>, String)) {
    assert_eq!(code, Some(1), "{printed}");
    let is_named = |line: &str| line.trim_start().starts_with("BROKEN") && line.contains(broken);
    assert!(printed.lines().any(is_named), "{printed}");
}

#[test]
fn a_command_that_keeps_its_promises_passes() {
    let (code, printed) = chaos("", "");
    assert_eq!(code, Some(0), "{printed}");
    assert!(!printed.contains("BROKEN"), "{printed}");
}

#[test]
fn a_lost_row_is_noticed() {
    let lose = ["conversations", "scores"]
        .map(|name| rewrite(&format!("{CAREFUL}/{name}.json"), WITHOUT_FIRST));
    names(
        "1 rows are not there after the second run",
        chaos("", &lose.concat()),
    );
}

#[test]
fn a_row_that_is_there_twice_is_noticed() {
    for (name, broken) in [
        ("conversations", "careful: a conversation is there twice"),
        ("scores", "careful: a score is there twice"),
    ] {
        let file = format!("{CAREFUL}/{name}.json");
        names(broken, chaos("", &rewrite(&file, FIRST_TWICE)));
    }
}

#[test]
fn a_reply_that_is_paid_twice_is_noticed() {
    names(
        "replies were paid twice, and 0 were lost",
        chaos("rm .probity/cache.sqlite*", ""),
    );
}

#[test]
fn sums_that_do_not_add_up_are_noticed() {
    let file = format!("{CAREFUL}/cost.json");
    let wrong = rewrite(&file, "{ sub(/\"output_tokens\": /, \"&1\"); print }");
    let failed = "CostsAreSumsOfCalls: the entries of cost.json";
    names(failed, chaos("", &wrong));
}

#[test]
fn a_line_that_is_missing_in_a_journal_is_noticed() {
    let without = rewrite(
        JOURNAL,
        "!gone && /\"message\":\"item finished\"/ { gone = 1; next } 1",
    );
    names(
        "journal check ended with 1: EachItemEndedOnce",
        chaos("", &without),
    );
}

#[test]
fn a_byte_that_was_changed_is_noticed() {
    let file = format!("{CAREFUL}/conversations.json");
    let changed = rewrite(
        &file,
        "!done && sub(/\"persona\": \"./, \"&.\") { done = 1 } 1",
    );
    names(
        "bench/runs/careful/conversations.json has other bytes",
        chaos("", &changed),
    );
}
