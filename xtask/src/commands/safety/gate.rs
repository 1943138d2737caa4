//! How an evaluation ends.

use pipeline::safety::TargetReport;
use schema::safety::GateOutcome;

use super::{super::Context, run::Done};
use crate::exit::Exit;

/// The exit code: the worst of all targets.
pub fn exit(done: &Done) -> Exit {
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
    } else if done.broken || any(|target| target.not_run.budget + target.not_run.stopped > 0) {
        Exit::Incomplete
    } else {
        Exit::Complete
    }
}

/// Whether there is no result at all, though there were cases.
fn nothing_scored(target: &TargetReport) -> bool {
    target.tally.passed + target.tally.failed == 0
}

/// Tells on standard error what the gate says, and what is missing.
pub fn tell(context: &Context, done: &Done) {
    for target in &done.report.targets {
        let id = &target.target.id;
        let terminal = &context.terminal;
        match target.gate {
            GateOutcome::Passed => {}
            GateOutcome::NothingScored { errors } => terminal.error(&format!(
                "{id}: nothing was scored: all {errors} cases ended in an error"
            )),
            GateOutcome::TooManyErrors { errors, max } => terminal.error(&format!(
                "{id}: {errors} cases ended in an error, and --max-errors is {max}"
            )),
            GateOutcome::TooManyFailures { rate, threshold } => terminal.error(&format!(
                "{id}: the failure rate is {rate:.4}, above --fail-action-threshold {}",
                threshold.get()
            )),
        }
        tell_missing(context, target);
    }
}

fn tell_missing(context: &Context, target: &TargetReport) {
    let (id, terminal) = (&target.target.id, &context.terminal);
    let errors = target.tally.errors;
    if errors > 0
        && matches!(
            target.gate,
            GateOutcome::Passed | GateOutcome::TooManyFailures { .. }
        )
    {
        terminal.warning(&format!(
            "{id}: {errors} cases ended in an error and count neither as passed nor as failed; --max-errors makes the run fail on them"
        ));
    }
    let again = "the same command goes on from there, with another output file";
    for (cases, why) in [
        (target.not_run.budget, "the budget was spent"),
        (target.not_run.stopped, "the run was stopped"),
    ] {
        if cases > 0 {
            terminal.warning(&format!(
                "{id}: {cases} cases were not run because {why}; {again}"
            ));
        }
    }
}
