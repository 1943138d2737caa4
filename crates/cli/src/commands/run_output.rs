//! What `run` and each phase print with `--json`.

use llm_client::Tally;
use probity::{BenchmarkReport, Counts, FailureGroup, JudgeGivenUp, RunReport};
use schema::{
    Finding, Grades, IncompleteReplies, ModelId, Phase, ReasoningReplies, Summary, TargetBasis,
    gate::GateReport,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    output::{CommandOutput, JournalOutput, Paid, Replies, path_text, path_texts},
    results::tree_cost,
};

/// The output of `run` and of each phase.
#[derive(Serialize, JsonSchema)]
pub struct RunOutput<'a> {
    /// The run's id.
    run_id: &'a str,
    /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`.
    outcome: &'static str,
    /// Why the run ended its calls after 20 rows without a usable verdict; null if it did not.
    judge_gave_up: Option<&'a JudgeGivenUp>,
    /// The folder of the run's manifest and journal.
    record: String,
    /// Replies by their source.
    replies: Replies,
    /// The cost of this run's new calls.
    paid_now: Paid,
    /// The result of each benchmark.
    benchmarks: Vec<BenchmarkOutput<'a>>,
    /// The results of `run --gate` for each benchmark; null without a gate, or if the run did not complete.
    gate: Option<&'a [GateReport]>,
}

impl CommandOutput for RunOutput<'_> {
    const COMMANDS: &'static [&'static str] = &[
        "run",
        "gen-metrics",
        "gen-scenarios",
        "simulate",
        "evaluate",
        "aggregate",
    ];
}

/// The result of a benchmark.
#[derive(Serialize, JsonSchema)]
struct BenchmarkOutput<'a> {
    /// The benchmark's folder.
    name: &'a str,
    /// The content of `results.json`.
    results: &'a [Summary],
    /// The content of `grades.json`, if it was written.
    grades: Option<&'a Grades>,
    /// Rows by phase and system under test.
    counts: Vec<CountsOutput<'a>>,
    /// The systems under test with empty or cut-off replies. Absent in output from before this count existed.
    #[serde(default)]
    incomplete_replies: Vec<&'a IncompleteReplies>,
    /// The systems under test whose replies contain reasoning, or seem to. Absent in output from before this count existed.
    #[serde(default)]
    reasoning_replies: Vec<&'a ReasoningReplies>,
    /// What the results of targets rest on: the age of their replies, and models that are assumed to be free. Absent in output from
    /// before it was known.
    #[serde(default)]
    basis: &'a [TargetBasis],
    /// What limits the conclusions from the results, the worst first. Absent in output from before it was collected.
    #[serde(default)]
    findings: &'a [Finding],
    /// Rows that failed, by reason.
    failures: &'a [FailureGroup],
    /// The files that were written.
    files: Vec<String>,
    /// The journal's path, and the result of its check.
    journal: Option<JournalOutput>,
    /// The cost of everything in the tree.
    cost_of_tree: Paid,
    /// Why the benchmark could not be completed.
    error: Option<String>,
}

/// The rows of a phase.
#[derive(Serialize, JsonSchema)]
struct CountsOutput<'a> {
    /// The phase.
    phase: Phase,
    /// The system under test; null for the phases that generate.
    target: Option<&'a ModelId>,
    /// The rows by how they ended.
    rows: Counts,
}

impl<'a> RunOutput<'a> {
    /// The result of a run whose calls are `spent`.
    pub fn new(
        context: &Context,
        report: &'a RunReport,
        spent: &Tally,
        gate: Option<&'a [GateReport]>,
    ) -> Self {
        let benchmarks = report.benchmarks.iter();
        Self {
            run_id: &report.run_id,
            outcome: report.outcome().as_str(),
            judge_gave_up: report.judge_gave_up.as_ref(),
            record: path_text(&context.layout.run(&report.run_id)),
            replies: spent.into(),
            paid_now: (&spent.paid.to_phase_cost()).into(),
            benchmarks: benchmarks
                .map(|report| BenchmarkOutput::new(context, report))
                .collect(),
            gate,
        }
    }
}

impl<'a> BenchmarkOutput<'a> {
    fn new(context: &Context, report: &'a BenchmarkReport) -> Self {
        let counts = report
            .counts
            .iter()
            .map(|((phase, target), rows)| CountsOutput {
                phase: *phase,
                target: target.as_ref(),
                rows: *rows,
            });
        let incomplete = report.replies.iter().filter(|all| all.incomplete > 0);
        let reasoning = report.reasoning.iter().filter(|all| all.any());
        Self {
            name: &report.name,
            results: &report.summaries,
            grades: report.grades.as_ref(),
            counts: counts.collect(),
            incomplete_replies: incomplete.collect(),
            reasoning_replies: reasoning.collect(),
            basis: &report.basis,
            findings: &report.findings,
            failures: &report.failures,
            files: path_texts(&report.files),
            journal: report.journal.as_ref().map(JournalOutput::from),
            cost_of_tree: (&tree_cost(context, &report.name)).into(),
            error: report.error.as_ref().map(ToString::to_string),
        }
    }
}
