//! Every run leaves a journal that passes its check, and from which the run's files can be rebuilt.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

#[path = "../common/mod.rs"]
mod common;
mod in_trouble;
mod reading;
mod whole_runs;

use std::{fs, path::Path};

use common::Bench;
use journal::check::{Outcome, Verdict};
use probity::{JournalEnd, RunReport, rebuild};
use schema::EventKind;
use serde_json::Value;

fn journal(report: &RunReport) -> &JournalEnd {
    report.benchmarks[0].journal.as_ref().unwrap()
}

fn lines(end: &JournalEnd) -> Vec<Value> {
    let text = fs::read_to_string(&end.path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of(lines: &[Value], message: EventKind) -> Vec<&Value> {
    let of = |line: &&Value| line["message"] == message;
    lines.iter().filter(of).collect()
}

fn assert_passes(end: &JournalEnd) {
    let failed: Vec<_> = end
        .check
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Failed)
        .collect();
    assert_eq!(
        end.check.verdict(),
        Verdict::Passed,
        "{}: {failed:#?}",
        end.verdict()
    );
    assert_eq!(end.trouble, None);
}

/// Rebuilds the journal, and compares every file with that of the tree. Returns their names.
fn assert_rebuilds(bench: &Bench, end: &JournalEnd) -> Vec<String> {
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(&end.path, out.path()).unwrap();
    assert_eq!(rebuilt.benchmark, "flattery");
    assert_eq!(rebuilt.notes, Vec::<String>::new());
    let name = |path: &Path| {
        let name = path.strip_prefix(out.path()).unwrap();
        name.to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = rebuilt.files.iter().map(|path| name(path)).collect();
    names.sort();
    for name in &names {
        let have = fs::read_to_string(out.path().join(name)).unwrap();
        let wanted = bench.read(&format!("flattery/{name}"));
        if have != wanted {
            let at = have.lines().zip(wanted.lines()).position(|(a, b)| a != b);
            let at = at.unwrap_or_default();
            let around = |text: &str| {
                text.lines()
                    .skip(at.saturating_sub(3))
                    .take(8)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            panic!(
                "{name}, line {}:\n{}\n--- wanted\n{}",
                at + 1,
                around(&have),
                around(&wanted)
            );
        }
    }
    names
}

const ALL_FILES: [&str; 8] = [
    "cost.json",
    "results.json",
    "runs/agreeable/conversations.json",
    "runs/agreeable/cost.json",
    "runs/agreeable/scores.json",
    "runs/careful/conversations.json",
    "runs/careful/cost.json",
    "runs/careful/scores.json",
];
