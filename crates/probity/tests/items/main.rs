//! Phases of one's own, and the journals of their items: every turn is in it once per attempt, whatever the phase records.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

#[path = "../common/mod.rs"]
mod common;
mod own_phases;
mod two_metrics;
mod wrapping;

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use common::Bench;
use journal::check::{Outcome, Verdict};
use llm_client::{HttpClient, ModelFactory, ModelSettings};
use probity::{Phases, RunOptions, RunOutcome, RunReport, rebuild};
use schema::{
    CallContext, ChatModel, ChatRequest, Conversation, Evaluator, Event, EventBody, EventKind,
    Fingerprint, Item, Message, ModelId, PhaseError, Purpose, Role, Scenario, Score, Simulator,
    Spend, TargetRef, Turn, event::TranslatedAnnotation,
};
use serde_json::Value;

type MakeEvaluator = dyn Fn(Arc<dyn Evaluator>) -> Arc<dyn Evaluator> + Send + Sync;
type MakeSimulator = dyn Fn(Arc<dyn Simulator>) -> Arc<dyn Simulator> + Send + Sync;

/// Puts `around` around every simulator of `phases`.
fn wrap_simulators(phases: &mut Phases, around: Box<MakeSimulator>) {
    let nothing = Box::new(|_: &probity::BenchmarkContext, _: &TargetRef| {
        Err(probity::RunError::input("there is no simulator"))
    });
    let inner = std::mem::replace(&mut phases.simulator, nothing);
    phases.simulator = Box::new(move |loaded, target| Ok(around(inner(loaded, target)?)));
}

/// Puts `around` around every evaluator of `phases`.
fn wrap_evaluators(phases: &mut Phases, around: Box<MakeEvaluator>) {
    let nothing = Box::new(|_: &probity::BenchmarkContext| {
        Err(probity::RunError::input("there is no evaluator"))
    });
    let inner = std::mem::replace(&mut phases.evaluator, nothing);
    phases.evaluator = Box::new(move |loaded| Ok(around(inner(loaded)?)));
}

fn named(name: &'static str) -> Fingerprint {
    Fingerprint {
        name: name.into(),
        version: 1,
        settings: Value::Null,
    }
}

fn lines(report: &RunReport) -> Vec<Value> {
    let end = report.benchmarks[0].journal.as_ref().unwrap();
    let text = fs::read_to_string(&end.path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The journal passes its check, and the tree can be rebuilt from it.
fn assert_whole(bench: &Bench, report: &RunReport) {
    let end = report.benchmarks[0].journal.as_ref().unwrap();
    let rows = end.check.rows.iter();
    let failed: Vec<_> = rows.filter(|row| row.outcome == Outcome::Failed).collect();
    assert_eq!(end.check.verdict(), Verdict::Passed, "{failed:#?}");
    let out = tempfile::tempdir().unwrap();
    for file in rebuild(&end.path, out.path()).unwrap().files {
        let name = file.strip_prefix(out.path()).unwrap().display();
        let rebuilt = fs::read_to_string(&file).unwrap();
        assert_eq!(rebuilt, bench.read(&format!("flattery/{name}")), "{name}");
    }
}

/// What a line says of a message: its role, turn and step. `None` for other lines and for summaries.
fn said(line: &Value) -> Option<(&'static str, u64, u64)> {
    let role = match EventKind::of(line["message"].as_str()?)? {
        EventKind::TranslatedUserResponse => "user",
        EventKind::TranslatedSutTurn | EventKind::TranslatedSutResponse => "assistant",
        EventKind::ToolAnswered => "tool",
        _ => return None,
    };
    Some((
        role,
        line["turn"].as_u64()?,
        line["step"].as_u64().unwrap_or(0),
    ))
}

/// Each message of each attempt of an item is in the journal once, the last attempt is the row, and each item ended once.
fn assert_each_turn_once(bench: &Bench, lines: &[Value]) {
    let mut turns: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut ended: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let mut attempts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    for line in lines {
        let item = (text(line, "prompt_id"), text(line, "sut"));
        if line["message"] == EventKind::RetryingItem {
            turns.remove(&item);
            *attempts.entry(item.clone()).or_default() += 1;
        }
        if let Some(said) = said(line) {
            *turns.entry(item.clone()).or_default() += 1;
            let attempt = attempts.get(&item).copied().unwrap_or(0);
            let count: &mut usize = seen.entry((item.clone(), attempt, said)).or_default();
            *count += 1;
            assert_eq!(*count, 1, "{said:?} of {item:?}");
        }
        if matches!(
            EventKind::of(&text(line, "message")),
            Some(EventKind::ItemFinished | EventKind::ItemFailed)
        ) {
            *ended.entry(item).or_default() += 1;
        }
    }
    let queued = lines
        .iter()
        .filter(|line| line["message"] == EventKind::QueuingItem);
    assert_eq!(queued.count(), ended.len());
    assert!(ended.values().all(|times| *times == 1), "{ended:?}");
    for target in ["agreeable", "careful"] {
        let rows = bench.json(&format!("flattery/runs/{target}/conversations.json"));
        for row in rows.as_array().unwrap() {
            let item = (text(row, "id"), target.to_owned());
            let messages = row["transcript"].as_array().unwrap().len();
            assert_eq!(turns.get(&item).copied().unwrap_or(0), messages, "{item:?}");
        }
    }
}
