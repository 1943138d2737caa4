//! The output of an evaluation.

use std::path::Path;

use report::{FileEntry, Spending, files_list, safety_spending, safety_summary};
use schema::{CostSum, Finding, gate::GateReport, safety::GateOutcome};
use serde_json::{Value, json};

use super::{
    super::{Context, findings, output::cost},
    run::Done,
};

/// The number of worst responses that are shown for each target.
const WORST: usize = 5;

/// Prints the results for people. `shown`: the findings that the run began with.
pub fn show(context: &Context, done: &Done, shown: &[Finding], junit: Option<&Path>) {
    let page = context.terminal.page();
    // Texts are cut to the terminal's width, even where tables may be wider.
    let width = context.terminal.width().min(page);
    let mut text = String::new();
    for target in &done.report.targets {
        let id = target.target.id.as_str();
        text.push_str(&safety_summary(id, &target.results, width, WORST));
        text.push('\n');
    }
    text.push_str(&safety_spending(&spending(done), width));
    for target in &done.report.targets {
        let new = findings::not_shown(shown, &target.findings);
        text.push_str(&findings::notes(context, new, width));
    }
    text.push('\n');
    let record = context.layout.run(&done.report.run_id);
    let mut files = Vec::new();
    for target in &done.report.targets {
        files.extend(target.file.as_deref().map(|path| FileEntry {
            what: target.target.id.as_str(),
            path,
        }));
    }
    files.extend(junit.map(|path| FileEntry {
        what: "junit",
        path,
    }));
    files.extend(done.page.as_deref().map(|path| FileEntry {
        what: "report",
        path,
    }));
    files.push(FileEntry {
        what: "record",
        path: &record,
    });
    text.push_str(&files_list(&files));
    context.terminal.print(&text);
}

fn spending(done: &Done) -> Spending {
    let mut all = CostSum::default();
    for target in &done.report.targets {
        all.add(&target.cost);
    }
    Spending {
        asked: done.spent.replies.saturating_sub(done.spent.cached_replies),
        cached: done.spent.cached_replies,
        now: done.spent.paid.to_phase_cost(),
        tree: all.total(),
    }
}

/// The results for programs.
pub fn json(context: &Context, done: &Done, rules: Option<&GateReport>) -> Value {
    let report = &done.report;
    let targets: Vec<Value> = report
        .targets
        .iter()
        .map(|target| {
            json!({
                "target": target.target.id,
                "file": target.file,
                "journal": target.journal.as_ref().map(super::super::output::journal),
                "passed": target.tally.passed,
                "failed": target.tally.failed,
                "errors": target.tally.errors,
                "failure_rate": target.tally.failure_rate(),
                "rates": target.results.details().and_then(|details| details.rates.as_ref()),
                "over_refusals": target.results.details().map_or(0, schema::safety::results::Details::over_refusals),
                "not_run": target.not_run,
                "gate": gate(&target.gate),
                "cost": cost(&target.cost),
                "basis": target.basis,
                "findings": target.findings,
            })
        })
        .collect();
    json!({
        "run_id": report.run_id,
        "interrupted": report.interrupted,
        "judge_gave_up": report.judge_gave_up,
        "record": context.layout.run(&report.run_id),
        "report": done.page,
        "replies": {
            "asked": done.spent.replies.saturating_sub(done.spent.cached_replies),
            "cached": done.spent.cached_replies,
            "failed": done.spent.failures,
        },
        "paid_now": cost(&done.spent.paid.to_phase_cost()),
        "targets": targets,
        "gate": rules,
    })
}

fn gate(outcome: &GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::NothingScored { .. } => "nothing_scored",
        GateOutcome::TooManyErrors { .. } => "too_many_errors",
        GateOutcome::TooManyFailures { .. } => "too_many_failures",
    }
}
