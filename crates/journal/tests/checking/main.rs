//! The rules over the reference journals, over journals with one fault, and over journals of Probity's.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod faults;
mod probity;
mod verdicts;

use std::path::PathBuf;

use journal::{
    JournalReader,
    check::{Failure, Outcome, Report, Verdict, check_with},
};
use serde_json::Value;

fn reference(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/journal/reference")
        .join(name)
}

fn events(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(reference(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn check_text(text: &str) -> Report {
    check_with("j", || Ok(JournalReader::new(text.as_bytes(), "j")))
}

fn check_events(events: &[Value]) -> Report {
    check_text(&text(events))
}

fn failed(report: &Report) -> Vec<&str> {
    let failed = report
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Failed);
    failed.map(|row| row.rule.as_ref()).collect()
}

fn reason(report: &Report) -> String {
    match report.verdict() {
        Verdict::NotCheckable(reason) => reason.to_string(),
        other => panic!("{other:?}: {report:#?}"),
    }
}

fn failures<'a>(report: &'a Report, rule: &str) -> &'a [Failure] {
    &report
        .rows
        .iter()
        .find(|row| row.rule == rule)
        .unwrap()
        .failures
}
