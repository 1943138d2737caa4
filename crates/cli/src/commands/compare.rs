//! `compare`: compares two targets, or two runs of one target, scenario by scenario.

use std::path::PathBuf;

use clap::Args;
use probity::{CompareOptions, Compared};
use report::{
    ComparedTargets, compared_people_sheet, compared_text, comparison_sheets,
    corrected_differences_sheet, finding_list, sheets_markdown, sheets_text,
};
use schema::{
    Finding, FindingSeverity, ModelId,
    statistics::{Comparison, CorrectedDifference, JudgeAgainstPeople, Statistics},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    logs::{self, LogArgs, LogBenchmark},
    output::{CommandOutput, path_text},
};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure},
};

/// Compare targets, or runs of one target, scenario by scenario
///
/// Everything comes from the scores in the tree, or in logs of other programs. No model is called, and nothing is written.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask compare honesty\n  cargo xtask compare honesty gpt-4.1 gpt-5 --markdown\n  cargo xtask \
        compare honesty --against ../last-month/benchmarks/honesty\n  cargo xtask compare logs/a.eval logs/b.eval"
)]
pub struct CompareArgs {
    /// The benchmark by name; or logs of other programs, which need no benchmark: files and folders that `import` takes
    #[arg(value_name = "BENCHMARK|LOG..", add = completion::benchmarks())]
    name: String,
    /// The targets by their ids [default: all]
    #[arg(value_name = "TARGET", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// Compare each target with itself in another tree of the benchmark, or in a folder that `export jsonl` wrote
    #[arg(long, value_name = "FOLDER")]
    against: Option<PathBuf>,
    #[command(flatten)]
    logs: LogArgs,
    /// Also show all pairs, and the metrics of each
    #[arg(long, conflicts_with = "json")]
    metrics: bool,
    /// The comparisons as tables of Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `compare`.
#[derive(Serialize, JsonSchema)]
pub struct CompareOutput<'a> {
    /// The benchmark's folder.
    benchmark: &'a str,
    /// The folder of the other tree, or null: targets of one tree are compared.
    against: Option<String>,
    /// For each pair the comparison of all rows, then of each metric.
    comparisons: &'a [Comparison],
    /// The targets of this tree with rows that people labelled.
    people: Vec<ComparedPeople<'a>>,
    /// As `corrected_differences` of `statistics.json`: pairs of targets of this tree that both have a corrected rate, or targets that have
    /// one here (`a`) and in the other tree (`b`). Absent in output from before they were computed.
    #[serde(default)]
    corrected_differences: &'a [CorrectedDifference],
    /// What limits the comparisons, the worst first. Absent in output from before it was collected.
    #[serde(default)]
    findings: &'a [Finding],
}

impl CommandOutput for CompareOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["compare"];
}

/// A judge compared with people, for one of the compared targets.
#[derive(Serialize, JsonSchema)]
struct ComparedPeople<'a> {
    /// The target's id.
    target: &'a ModelId,
    /// As `judge.people` of `statistics.json`.
    people: &'a JudgeAgainstPeople,
}

/// Prints the comparisons.
///
/// # Errors
/// When there are no such scores, or the other tree belongs to another benchmark.
pub fn run(context: &Context, args: &CompareArgs) -> Result<Exit, Failure> {
    let arguments: Vec<String> = std::iter::once(&args.name)
        .chain(&args.targets)
        .cloned()
        .collect();
    if let Some(named) = logs::split(&context.layout, &arguments)? {
        let made = LogBenchmark::read(context, named.paths, &args.logs, true)?;
        return compare(&made.context, args, &made.name, LOGS, named.targets);
    }
    args.logs.refuse()?;
    let name = one_benchmark(&context.layout, &args.name)?;
    compare(context, args, &name, &name, target_ids(&args.targets)?)
}

/// Where no pair can be compared.
const NOTHING_SHARED: &str = "no scenario has a verdict from both: there is nothing to compare\n";

/// How commands name the logs that they are given again.
const LOGS: &str = "LOG..";

/// `named`: what commands in the output name in the place of the benchmark.
fn compare(
    context: &Context,
    args: &CompareArgs,
    name: &str,
    named: &str,
    targets: Vec<ModelId>,
) -> Result<Exit, Failure> {
    let options = CompareOptions {
        targets,
        against: args.against.clone(),
    };
    let Compared {
        targets,
        comparisons,
        people,
        corrected_differences,
        findings: found,
    } = probity::compare(&context.layout, name, &options)?;
    context.warn_of(&found);
    let there = args.against.as_deref().map(path_text);
    let names = there.as_deref().map(|there| ["this tree", there]);
    if args.json {
        let people = people.iter();
        let output = CompareOutput {
            benchmark: name,
            against: there,
            comparisons: &comparisons,
            people: people
                .map(|(target, people)| ComparedPeople { target, people })
                .collect(),
            corrected_differences: &corrected_differences,
            findings: &found,
        };
        context.print_json("compare", Exit::Complete, &output);
    } else if comparisons.is_empty()
        && targets.len() <= Statistics::MOST_COMPARED
        && (there.is_some() || args.markdown)
    {
        context.terminal.print(NOTHING_SHARED);
    } else if args.markdown && !comparisons.is_empty() {
        let mut sheets = comparison_sheets(&comparisons, names);
        sheets.push(compared_people_sheet(&people));
        sheets.push(corrected_differences_sheet(&corrected_differences, names));
        let limits = finding_list(&found, &context.program);
        context
            .terminal
            .print(&(sheets_markdown(&sheets) + &limits));
    } else {
        // Warnings are on standard error.
        let notes: Vec<&Finding> = found
            .iter()
            .filter(|finding| finding.severity == FindingSeverity::Note)
            .collect();
        let compared = ComparedTargets {
            name: named,
            against: there.as_deref(),
            targets: &targets,
            comparisons: &comparisons,
            corrected_differences: &corrected_differences,
            findings: &notes,
            by_metric: args.metrics,
            program: &context.program,
        };
        let mut text = compared_text(&compared, context.terminal.page());
        if args.metrics {
            let people = [
                compared_people_sheet(&people),
                corrected_differences_sheet(&corrected_differences, names),
            ];
            let people = sheets_text(&people, context.terminal.page());
            if !people.is_empty() {
                text.push('\n');
                text.push_str(&people);
            }
        }
        context.terminal.print(&text);
    }
    Ok(Exit::Complete)
}
