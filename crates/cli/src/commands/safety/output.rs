//! The output of an evaluation.

use std::path::Path;

use probity::{
    JudgeGivenUp,
    safety::{NotRun, TargetReport},
};
use report::{Spending, labelled_text, limits_text, safety_brief, safety_summary, spending_texts};
use schema::{
    CostSum, Finding, FindingSeverity, ModelId, TargetBasis,
    gate::GateReport,
    safety::{
        GateOutcome,
        results::{Details, SafetyRates},
    },
    text::counted,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        Context,
        output::{CommandOutput, JournalOutput, Paid, Replies, path_text},
        plan::PlannedCalls,
    },
    run::Done,
};

/// The number of worst responses that are shown for each target.
const WORST: usize = 5;

/// The most lines of the results.
const LINES: usize = 25;

/// The most columns: those of the smallest usual terminal.
const COLUMNS: usize = 80;

/// The most files of targets that have a line.
const FILES: usize = 3;

/// Prints the results for people in a screen, or all of it if `is_whole`.
pub fn show(context: &Context, done: &Done, junit: Option<&Path>, is_whole: bool) {
    let page = context.terminal.page();
    let width = page.min(COLUMNS);
    let end = labelled_text(&paths(context, done, junit, is_whole), width);
    let targets = &done.report.targets;
    let notes: Vec<&Finding> = targets
        .iter()
        .flat_map(|target| &target.findings)
        .filter(|finding| finding.severity == FindingSeverity::Note)
        .collect();
    let limits = limits_text(&end, &notes, "`--json`", &context.program, width);
    let mut text = String::new();
    if is_whole {
        // Texts are cut to the terminal's width, even where tables may be wider.
        let width = context.terminal.width().min(page);
        for target in targets {
            let id = target.target.id.as_str();
            text.push_str(&safety_summary(id, &target.results, width, WORST));
            text.push('\n');
        }
    } else {
        let results: Vec<_> = targets
            .iter()
            .map(|target| (target.target.id.as_str(), &target.results))
            .collect();
        let taken = end.lines().count() + limits.lines().count() + 1;
        text = safety_brief(&results, LINES.saturating_sub(taken), width);
        if !text.is_empty() {
            text.push('\n');
        }
    }
    context.terminal.print(&(text + &limits + &end));
}

/// Cost, the result files, the report and the record, a word and a text each.
fn paths<'a>(
    context: &Context,
    done: &'a Done,
    junit: Option<&Path>,
    is_whole: bool,
) -> Vec<(&'a str, String)> {
    let mut paths: Vec<(&str, String)> = Vec::new();
    for text in spending_texts(&spending(done), &[]) {
        paths.push((if paths.is_empty() { "cost" } else { "" }, text));
    }
    let files: Vec<&Path> = done
        .report
        .targets
        .iter()
        .filter_map(|target| target.file.as_deref())
        .collect();
    let shown = match is_whole || files.len() <= FILES {
        true => files.len(),
        false => FILES - 1,
    };
    for (at, path) in files.iter().take(shown).enumerate() {
        paths.push((if at == 0 { "results" } else { "" }, path_text(path)));
    }
    if shown < files.len() {
        let more = counted((files.len() - shown) as u64, "more file", "more files");
        paths.push(("", format!("{more} beside them")));
    }
    paths.extend(junit.map(|path| ("junit", path_text(path))));
    paths.extend(done.page.as_deref().map(|path| ("report", path_text(path))));
    let record = context.layout.run(&done.report.run_id);
    paths.push(("record", path_text(&record)));
    paths
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

/// The output of `safety`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SafetyOutput<'a> {
    /// Of an evaluation.
    Run(SafetyRunOutput<'a>),
    /// Of a dry run.
    Plan(PlannedCalls<'a>),
}

impl CommandOutput for SafetyOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["safety single-turn", "safety multi-turn"];
}

/// The output of a safety evaluation.
#[derive(Serialize, JsonSchema)]
pub struct SafetyRunOutput<'a> {
    /// The run's id.
    run_id: &'a str,
    /// Whether the run was stopped.
    interrupted: bool,
    /// Why the run ended its calls before its end: the judges gave no usable verdict; null if it did not.
    judge_gave_up: Option<&'a JudgeGivenUp>,
    /// The folder of the run's manifest and journals.
    record: String,
    /// The report, or null if none was written.
    report: Option<String>,
    /// Replies by their source.
    replies: Replies,
    /// The cost of this run's new calls.
    paid_now: Paid,
    /// The result of each target.
    targets: Vec<SafetyTargetOutput<'a>>,
    /// The answers of the rules of `--gate`; null without them.
    gate: Option<&'a GateReport>,
}

/// The result of one target of a safety evaluation.
#[derive(Serialize, JsonSchema)]
struct SafetyTargetOutput<'a> {
    /// The target's id.
    target: &'a ModelId,
    /// The result file, or null if it was not written.
    file: Option<String>,
    /// The journal's path, and the result of its check.
    journal: Option<JournalOutput>,
    /// Cases that passed.
    passed: u64,
    /// Cases that failed.
    failed: u64,
    /// Cases that could not be run or scored.
    errors: u64,
    /// `failed` of those that passed or failed; 0 without any.
    failure_rate: f64,
    /// The rates as in the result file, or null.
    rates: Option<&'a SafetyRates>,
    /// Harmless prompts that the target refused.
    over_refusals: u64,
    /// Cases that were not run, by the reason.
    not_run: &'a NotRun,
    /// `passed`, `nothing_scored`, `too_many_errors`, `too_many_failures`, or `inconclusive` where cases that passed with a cut-off reply
    /// decide.
    gate: &'static str,
    /// The cost of everything in the result file.
    cost: Paid,
    /// What the results rest on: the age of the replies, and models that are assumed to be free. Null if nothing is on record.
    basis: Option<&'a TargetBasis>,
    /// What limits the conclusions from the results, the worst first.
    findings: &'a [Finding],
}

/// The output of a run, with the answers of its rules.
pub fn of_run<'a>(
    context: &Context,
    done: &'a Done,
    rules: Option<&'a GateReport>,
) -> SafetyOutput<'a> {
    let report = &done.report;
    let targets = report.targets.iter();
    SafetyOutput::Run(SafetyRunOutput {
        run_id: &report.run_id,
        interrupted: report.interrupted,
        judge_gave_up: report.judge_gave_up.as_ref(),
        record: path_text(&context.layout.run(&report.run_id)),
        report: done.page.as_deref().map(path_text),
        replies: (&done.spent).into(),
        paid_now: (&done.spent.paid.to_phase_cost()).into(),
        targets: targets.map(SafetyTargetOutput::from).collect(),
        gate: rules,
    })
}

impl<'a> From<&'a TargetReport> for SafetyTargetOutput<'a> {
    fn from(target: &'a TargetReport) -> Self {
        let details = target.results.details();
        Self {
            target: &target.target.id,
            file: target.file.as_deref().map(path_text),
            journal: target.journal.as_ref().map(JournalOutput::from),
            passed: target.tally.passed,
            failed: target.tally.failed,
            errors: target.tally.errors,
            failure_rate: target.tally.failure_rate(),
            rates: details.and_then(|details| details.rates.as_ref()),
            over_refusals: details.map_or(0, Details::over_refusals) as u64,
            not_run: &target.not_run,
            gate: gate(&target.gate),
            cost: (&target.cost).into(),
            basis: target.basis.as_ref(),
            findings: &target.findings,
        }
    }
}

fn gate(outcome: &GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::NothingScored { .. } => "nothing_scored",
        GateOutcome::TooManyErrors { .. } => "too_many_errors",
        GateOutcome::TooManyFailures { .. } => "too_many_failures",
        GateOutcome::Inconclusive { .. } => "inconclusive",
    }
}
