//! The result of an evaluation as exit code and messages.

use probity::safety::TargetReport;
use report::{FailureGroup, FailureGroups, failure_reasons};
use schema::{
    numbers::{self, grouped},
    safety::{GateOutcome, Stage},
    text::counted,
};

use super::{super::Context, run::Done};
use crate::exit::Exit;

/// The exit code: the worst one of all targets.
pub fn exit(done: &Done) -> Exit {
    if done.report.judge_gave_up.is_some() {
        return Exit::NothingRan;
    }
    if done.report.interrupted && !done.broken {
        return Exit::Interrupted;
    }
    let targets = &done.report.targets;
    let any = |is: fn(&TargetReport) -> bool| targets.iter().any(is);
    if any(nothing_scored) {
        Exit::NothingRan
    } else if any(|target| matches!(target.gate, GateOutcome::TooManyErrors { .. })) {
        Exit::TooManyErrors
    } else if any(|target| matches!(target.gate, GateOutcome::TooManyFailures { .. })) {
        Exit::GateFailed
    } else if done.broken || any(is_unfinished) {
        Exit::Incomplete
    } else {
        Exit::Complete
    }
}

/// Whether cases were not run because the run was stopped or the budget was spent.
pub fn is_unfinished(target: &TargetReport) -> bool {
    target.not_run.budget + target.not_run.stopped > 0
}

/// Whether there are cases but no results at all.
fn nothing_scored(target: &TargetReport) -> bool {
    target.tally.passed + target.tally.failed == 0
}

/// Reports the result of the gate, and what is missing, on standard error.
pub fn report_outcome(context: &Context, done: &Done) {
    report_errors(context, done);
    for target in &done.report.targets {
        let id = &target.target.id;
        let terminal = &context.terminal;
        match target.gate {
            GateOutcome::Passed => {}
            GateOutcome::NothingScored { errors } => terminal.error(&format!(
                "{id}: {} a verdict",
                match errors {
                    1 => "the only case does not have".to_owned(),
                    _ => format!("none of {} has", counted(errors, "case", "cases")),
                }
            )),
            GateOutcome::TooManyErrors { errors, max } => terminal.error(&format!(
                "{id}: {} no verdict; --max-errors is {}",
                counted(errors, "case has", "cases have"),
                grouped(max)
            )),
            GateOutcome::TooManyFailures { rate, threshold } => terminal.error(&format!(
                "{id}: the failure rate over all attempts is {} (--fail-action-threshold {}){}",
                numbers::percent_above(rate, threshold.get()),
                threshold.get(),
                seed(target)
            )),
        }
        report_missing(context, target);
    }
    if let Some(why) = &done.report.judge_gave_up {
        let text = format!("{why}\n{JUDGE_ADVICE}");
        context.terminal.error(&text);
    }
}

/// What to do about judges without usable scores. Their replies are in the cache, so that another judge or setting is needed.
const JUDGE_ADVICE: &str = "help: name another judge in `evaluator_model`, `safety.judge_models` or `--judge`, or raise its `max_tokens`, and run \
     the same command again with another output file: replies of the targets come from the cache. `--keep-going` scores the other cases all \
     the same";

/// The rate of seed cases, which does not depend on the rewritten prompts.
fn seed(target: &TargetReport) -> String {
    let details = target.results.details();
    let rates = details.and_then(|details| details.rates.as_ref());
    let Some(seed) = rates.map(|rates| &rates.seed) else {
        return String::new();
    };
    match (seed.estimate, seed.lower, seed.upper) {
        (Some(rate), Some(lower), Some(upper)) => format!(
            "; of seed cases it is {}",
            numbers::rate(rate, Some((lower, upper)))
        ),
        _ => String::new(),
    }
}

/// Reports why cases have no verdict, grouped by reason.
fn report_errors(context: &Context, done: &Done) {
    let mut groups = FailureGroups::default();
    for target in &done.report.targets {
        for error in &target.failures {
            groups.push_group(FailureGroup {
                phase: doing(error.stage).to_owned(),
                model: Some(target.target.id.clone()),
                reason: error.reason.clone(),
                rows: 1,
                examples: vec![match &error.strategy {
                    Some(how) => format!("{} [{how}]", error.case_id),
                    None => error.case_id.clone(),
                }],
                skipped: false,
            });
        }
    }
    if !groups.is_empty() {
        let reasons = failure_reasons(&groups, context.terminal.width());
        let text = format!("why cases have no verdict\n{reasons}");
        context.terminal.write(text.as_bytes());
    }
}

/// The step that failed, in words.
fn doing(stage: Stage) -> &'static str {
    match stage {
        Stage::Target => "calling the target",
        Stage::Attacker => "attacking",
        Stage::Variation => "rewriting",
        Stage::Judge => "judging",
        _ => "running",
    }
}

fn report_missing(context: &Context, target: &TargetReport) {
    let (id, terminal) = (&target.target.id, &context.terminal);
    let errors = target.tally.errors;
    if errors > 0
        && matches!(
            target.gate,
            GateOutcome::Passed | GateOutcome::TooManyFailures { .. }
        )
    {
        terminal.warning(&format!(
            "{id}: {} no verdict and {} neither as passed nor as failed; --max-errors makes the run fail on them",
            counted(errors, "case has", "cases have"),
            if errors == 1 { "counts" } else { "count" }
        ));
    }
    let again = "run the same command with another output file to continue";
    for (cases, why) in [
        (target.not_run.budget, "the budget was spent"),
        (target.not_run.stopped, "the run was stopped"),
    ] {
        if cases > 0 {
            terminal.warning(&format!(
                "{id}: {} not run because {why}; {again}",
                counted(cases, "case was", "cases were")
            ));
        }
    }
}
