//! The requests that judging existing conversations would make.

use std::ops::ControlFlow;

use schema::{Phase, TargetRef, Turn};

use super::{
    JUDGE_REPLY, PROMPT, PlanModel, PlanRow, PlannedCalls, Range, and_further, cut, each, tokens,
};
use store::{Layout, RunError, Verdicts, read_benchmark, read_conversations, read_scenarios};

/// Tokens of a message as a judge reads it: its text and its calls.
fn read_of(turn: &Turn) -> u64 {
    let calls: u64 = turn
        .tool_calls
        .iter()
        .map(|call| tokens(&call.name) + tokens(&call.arguments))
        .sum();
    tokens(&turn.content) + calls + turn.name.as_deref().map_or(0, tokens)
}

/// What `evaluate` alone would request: one call to each judge for each existing conversation of `targets` that did not fail. Skips targets
/// without conversations, and conversations with a verdict of another program. As in a plan of a whole run, cached replies are counted as
/// if they were not cached.
///
/// # Errors
/// When a file of the benchmark cannot be read.
pub fn plan_judging(
    layout: &Layout,
    name: &str,
    targets: &[TargetRef],
    judges: &[PlanModel],
    further_judge_calls: f64,
    force: bool,
) -> Result<Vec<PlanRow>, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let scenarios = read_scenarios(&dir)?;
    let mut plan = Vec::new();
    for target in targets {
        let files = dir.target(&target.id)?;
        let path = files.conversations();
        if !path.exists() {
            continue;
        }
        let kept = match force {
            true => Verdicts::default(),
            false => Verdicts::read(&files, &target.id, &benchmark.metrics),
        };
        let (mut rows, mut input) = (0, 0);
        read_conversations(&path, target, &benchmark, &scenarios, |row| {
            let metric = benchmark
                .metric(&row.scenario.metric_id)
                .filter(|metric| metric.check.is_none());
            if let (Some(metric), None, None) = (metric, &row.error, kept.of(&row)) {
                rows += 1;
                let said: u64 = row.transcript.iter().map(read_of).sum();
                input += PROMPT + tokens(&metric.definition) + said;
            }
            ControlFlow::Continue(())
        })?;
        let (rows, input) = (Range::exact(rows), Range::exact(input));
        plan.extend(judges.iter().flat_map(|judge| {
            let further = |range| and_further(range, further_judge_calls);
            let planned = PlannedCalls {
                calls: further(rows),
                input: further(input),
                output: each(further(rows), cut(JUDGE_REPLY, judge.max_tokens)),
                are_alone: true,
                ..PlannedCalls::default()
            };
            let who = format!("judge {} for target {}", judge.id, target.id);
            let who = (who, Some(&target.id));
            PlanRow::with_calls(name, Phase::Evaluate, who, rows, &planned, judge)
        }));
    }
    Ok(plan)
}
