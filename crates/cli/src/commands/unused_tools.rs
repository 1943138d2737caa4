//! Targets that were offered tools and called none: their rates say little about their actions.

use std::ops::ControlFlow;

use probity::{BenchmarkReport, Phase};
use schema::{Conversation, ModelId, TargetRef, numbers::grouped};
use store::{read_benchmark, read_conversations, read_scenarios};

use super::Context;

/// A message for each target of this run that called no tool in any of its conversations.
pub fn tools(context: &Context, report: &BenchmarkReport) -> Vec<String> {
    let played = report.counts.iter().filter_map(|((phase, id), counts)| {
        let id = id.as_ref()?;
        (*phase == Phase::Simulate && counts.done > 0).then_some(id)
    });
    played
        .filter_map(|id| of_target(context, &report.name, id))
        .collect()
}

fn of_target(context: &Context, name: &str, id: &ModelId) -> Option<String> {
    let dir = context.layout.benchmark(name).ok()?;
    let benchmark = read_benchmark(&dir).ok()?;
    if benchmark.tools.is_empty() {
        return None;
    }
    let scenarios = read_scenarios(&dir).ok()?;
    let target = TargetRef {
        id: id.clone(),
        model: String::new(),
    };
    let (mut offered, mut called) = (0_u64, false);
    let take = |row: Conversation| {
        let has_tools = row
            .scenario
            .tools
            .as_ref()
            .is_none_or(|names| !names.is_empty());
        offered += u64::from(has_tools && row.error.is_none());
        called |= row
            .transcript
            .iter()
            .any(|turn| !turn.tool_calls.is_empty());
        match called {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let path = dir.target(id).ok()?.conversations();
    read_conversations(&path, &target, &benchmark, &scenarios, take).ok()?;
    (!called && offered > 0).then(|| {
        format!(
            "{name}: {id} called no tool in {}. If its replies hold calls as text, the model or its \
             endpoint does not support tools in the chat completions API, and its rates do not show how it acts",
            match offered {
                1 => "its only conversation".to_owned(),
                _ => format!("any of its {} conversations", grouped(offered)),
            }
        )
    })
}
