//! The rules of `conversations.json`.

use std::collections::HashSet;

use schema::{Conversation, ModelId};
use serde_json::Value;

use super::{BenchmarkFacts, Once};
use crate::checker::Found;

/// Checks the rows one after the other.
pub(crate) struct ConversationRules<'f> {
    facts: &'f BenchmarkFacts,
    seen: Once,
}

impl<'f> ConversationRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            facts,
            seen: Once::default(),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let mut found = Vec::new();
        let text = |pointer: &str| row.pointer(pointer).and_then(Value::as_str);
        if let Some(id) = self.id(row)
            && let Some(first) = self.seen.take(&id, line)
        {
            found.push(Found::problem(
                if row.get("conv_id").is_some() {
                    "/conv_id"
                } else {
                    ""
                },
                format!("{id:?} is in line {first} already. Each conversation needs its own id"),
            ));
        }
        if let (Some(known), Some(id)) = (&self.facts.scenarios, text("/id"))
            && !known.contains(id)
        {
            found.push(Found::note(
                "/id",
                format!("scenarios.json has no scenario {id:?}"),
            ));
        }
        if let (Some(folder), Some(id)) = (self.facts.target(), text("/target/id"))
            && folder != id
        {
            found.push(Found::note(
                "/target/id",
                format!("{id:?} differs from the folder, {folder:?}"),
            ));
        }
        found.extend(samples(row));
        found.extend(calls(row));
        found
    }

    /// The row's id; if it is missing, derived like readers do.
    fn id(&self, row: &Value) -> Option<String> {
        if let Some(id) = row.get("conv_id").and_then(Value::as_str) {
            return Some(id.to_owned());
        }
        let scenario = row.get("id")?.as_str()?;
        let target = row.pointer("/target/id").and_then(Value::as_str);
        let target = ModelId::new(target.or(self.facts.target())?).ok()?;
        let sample = row
            .get("sample")
            .or_else(|| row.get("_sample"))
            .and_then(Value::as_u64)
            .unwrap_or(0);
        Some(Conversation::make_id(
            scenario,
            &target,
            u32::try_from(sample).ok()?,
        ))
    }

    /// The ids of the conversations.
    pub(crate) fn into_ids(self) -> HashSet<String> {
        self.seen.into_ids()
    }
}

/// Checks that both names of the sample have the same value.
fn samples(row: &Value) -> Option<Found> {
    let sample = row.get("sample").and_then(Value::as_u64)?;
    let older = row.get("_sample").and_then(Value::as_u64)?;
    (sample != older).then(|| {
        let reason = format!("`_sample` is {older} where `sample` is {sample}, which counts");
        Found::note("/_sample", reason)
    })
}

/// Checks that every tool call has one answer, and every answer has its call.
fn calls(row: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    let mut open: Vec<(&str, String)> = Vec::new();
    let turns = row.get("transcript").and_then(Value::as_array);
    let ended_well = row.get("error").is_none_or(Value::is_null);
    for (number, turn) in turns.into_iter().flatten().enumerate() {
        let at = format!("/transcript/{number}");
        match turn.get("role").and_then(Value::as_str) {
            Some("assistant") => {
                let calls = turn.get("tool_calls").and_then(Value::as_array);
                for (index, call) in calls.into_iter().flatten().enumerate() {
                    if let Some(id) = call.get("id").and_then(Value::as_str) {
                        open.push((id, format!("{at}/tool_calls/{index}")));
                    }
                }
            }
            Some("tool") => {
                let id = turn.get("tool_call_id").and_then(Value::as_str);
                let asked = id.and_then(|id| open.iter().position(|(call, _)| *call == id));
                match asked {
                    Some(position) => {
                        open.remove(position);
                    }
                    None => found.push(Found::problem(
                        match id {
                            Some(_) => format!("{at}/tool_call_id"),
                            None => at,
                        },
                        "no call before this answer of a tool",
                    )),
                }
            }
            _ => {}
        }
    }
    for (id, at) in open.into_iter().filter(|_| ended_well) {
        found.push(Found::note(at, format!("the call {id:?} is not answered")));
    }
    found
}
