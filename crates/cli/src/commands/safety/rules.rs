//! `--gate`: checks the rules of a `gate.yaml` against the rates of the cases, in addition to the command's own gate.

use std::path::Path;

use probity::{GateOptions, SafetySource};
use schema::{
    ModelId,
    gate::{GateAnswer, GateReport},
};

use super::{
    super::{Context, gate},
    args::SafetyArgs,
    run::{Done, Job},
};
use crate::exit::{Exit, Failure};

/// Checks the rules before the first call.
///
/// # Errors
/// When the rules or their baseline cannot be used.
pub fn check(context: &Context, job: &Job<'_>) -> Result<(), Failure> {
    let Some(options) = options(job.args) else {
        return Ok(());
    };
    let uid = job.args.mode.uid();
    let groups = job.group_names();
    let targets: Vec<ModelId> = job
        .cast
        .targets
        .iter()
        .map(|target| target.id.clone())
        .collect();
    let layout = &context.layout;
    Ok(probity::check_safety_gate(
        layout, uid, &groups, &targets, &options,
    )?)
}

/// The result of the rules; `None` if there are none, or the run did not complete.
///
/// # Errors
/// When the baseline has other cases, settings or judges.
pub fn after_run(
    context: &Context,
    args: &SafetyArgs,
    done: &Done,
    own: Exit,
) -> Result<Option<GateReport>, Failure> {
    let Some(options) = options(args) else {
        return Ok(None);
    };
    let ended = [
        Exit::Complete,
        Exit::GateFailed,
        Exit::TooManyErrors,
        Exit::Inconclusive,
    ];
    if !ended.contains(&own) {
        let note =
            "the rules of --gate were not evaluated, because the run did not come to its end";
        context.terminal.warning(note);
        return Ok(None);
    }
    let targets = done.report.targets.iter();
    let sources: Vec<SafetySource<'_>> = targets
        .map(|target| SafetySource {
            path: target.file.as_deref().unwrap_or(Path::new("results")),
            results: &target.results,
        })
        .collect();
    let report = probity::gate_safety(&context.layout, &sources, &options)?;
    Ok(Some(report))
}

/// The exit code of a run with rules. A failed gate takes precedence, so that callers who accept 4 as "not decided" do
/// not accept it.
pub fn exit(own: Exit, answer: GateAnswer) -> Exit {
    match (own, gate::exit(answer)) {
        (Exit::Complete, rules) => rules,
        (_, Exit::GateFailed) => Exit::GateFailed,
        (own, _) => own,
    }
}

fn options(args: &SafetyArgs) -> Option<GateOptions> {
    let rules = args.common.gate.clone()?;
    Some(GateOptions {
        rules,
        ..GateOptions::default()
    })
}
