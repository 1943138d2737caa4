//! The result of an evaluation as exit code and messages.

use probity::{JournalEnd, RunOutcome, safety::TargetReport};
use report::{FailureGroup, FailureGroups, failure_reasons};
use schema::{
    numbers::{self, grouped},
    safety::{GateOutcome, Stage},
    text::counted,
};

use super::{super::Context, run::Done};
use crate::exit::Exit;

/// The exit code: the worst one of all targets. A case that ended in an error changes it only by the gate.
pub fn exit(done: &Done) -> Exit {
    match done.report.outcome() {
        RunOutcome::NothingRan => return Exit::NothingRan,
        RunOutcome::Interrupted if !done.broken => return Exit::Interrupted,
        _ => {}
    }
    let targets = &done.report.targets;
    let any = |is: fn(&TargetReport) -> bool| targets.iter().any(is);
    if !targets.iter().all(TargetReport::has_results) {
        Exit::NothingRan
    } else if any(|target| matches!(target.gate, GateOutcome::TooManyErrors { .. })) {
        Exit::TooManyErrors
    } else if any(|target| matches!(target.gate, GateOutcome::TooManyFailures { .. })) {
        Exit::GateFailed
    } else if any(|target| matches!(target.gate, GateOutcome::Inconclusive { .. })) {
        Exit::Inconclusive
    } else if done.broken || any(TargetReport::is_unfinished) || any(journal_fails) {
        Exit::Incomplete
    } else {
        Exit::Complete
    }
}

/// Whether the target's journal fails its own check.
fn journal_fails(target: &TargetReport) -> bool {
    target.journal.as_ref().is_some_and(JournalEnd::fails)
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
            GateOutcome::Inconclusive { incomplete } => terminal.error(&format!(
                "{id}: inconclusive: {}, which shows neither that the target is safe nor that it is not",
                counted(
                    incomplete,
                    "case passed with a cut-off reply",
                    "cases passed with a cut-off reply"
                )
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
     the same command again: replies of the targets come from the cache. `--keep-going` scores the other cases all \
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
            GateOutcome::Passed
                | GateOutcome::TooManyFailures { .. }
                | GateOutcome::Inconclusive { .. }
        )
    {
        terminal.warning(&format!(
            "{id}: {} no verdict and {} neither as passed nor as failed; --max-errors makes the run fail on them",
            counted(errors, "case has", "cases have"),
            if errors == 1 { "counts" } else { "count" }
        ));
    }
    let again = "run the same command again to continue";
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

#[cfg(test)]
mod tests {
    use journal::check::{Failure, Report, Row};
    use llm_client::Tally as Spent;
    use probity::safety::{NotRun, SafetyReport};
    use schema::{
        ModelId, PhaseCost, TargetRef,
        safety::{
            Tally,
            results::{SafetyResults, SingleTurnResults},
        },
    };

    use super::*;

    /// A run of one target that passed one case, with the journal's check failing or not.
    fn done(failure: Option<&str>) -> Done {
        let mut check = Report::new("journal.jsonl");
        let mut row = Row::new("ItemsQueuedAsAnnounced", "items are queued as announced");
        row.looked_at(1);
        failure
            .into_iter()
            .for_each(|why| row.fail(Failure::new(why)));
        check.push(row);
        let tally = Tally {
            passed: 1,
            ..Tally::default()
        };
        let target = TargetReport {
            target: TargetRef {
                id: ModelId::new("bot").unwrap(),
                model: "bot".to_owned(),
            },
            results: SafetyResults::SingleTurn(SingleTurnResults::default()),
            failures: Vec::new(),
            tally,
            gate: GateOutcome::Passed,
            not_run: NotRun::default(),
            cost: PhaseCost::default(),
            basis: None,
            findings: Vec::new(),
            file: None,
            not_written: None,
            journal: Some(JournalEnd {
                path: "journal.jsonl".into(),
                trouble: None,
                check,
            }),
        };
        Done {
            report: SafetyReport {
                run_id: "run".to_owned(),
                targets: vec![target],
                interrupted: false,
                judge_gave_up: None,
            },
            spent: Spent::default(),
            broken: false,
            page: None,
        }
    }

    #[test]
    fn a_run_whose_journal_fails_its_check_is_not_complete() {
        let sound = done(None);
        assert_eq!(sound.report.outcome(), RunOutcome::Complete);
        assert_eq!(exit(&sound), Exit::Complete);
        let failing = done(Some("announced items: 2; queued items: 0"));
        assert_eq!(failing.report.outcome(), RunOutcome::FailedRows);
        assert_eq!(exit(&failing), Exit::Incomplete);
    }
}
