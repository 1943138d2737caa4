//! `compare`: compares two targets, or two runs of one target, scenario by scenario.

use std::path::PathBuf;

use clap::Args;
use probity::{CompareOptions, Compared};
use report::{
    compared_people_sheet, comparison_sheets, corrected_differences_sheet, finding_list,
    sheets_markdown, sheets_text,
};
use schema::{
    Finding, ModelId,
    statistics::{Comparison, CorrectedDifference, JudgeAgainstPeople},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context, findings,
    output::{CommandOutput, path_text},
};
use crate::{
    benchmarks::{one_benchmark, target_ids},
    completion,
    exit::{Exit, Failure},
};

/// Compare targets, or runs of one target, scenario by scenario
///
/// Everything comes from the scores in the tree. No model is called, and nothing is written.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask compare honesty\n  cargo xtask compare honesty gpt-4.1 gpt-5 --markdown\n  cargo xtask \
        compare honesty --against ../last-month/benchmarks/honesty"
)]
pub struct CompareArgs {
    /// The benchmark by name
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: String,
    /// The targets by their ids in the tree [default: all]
    #[arg(value_name = "TARGET", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// Compare each target with itself in another tree of the benchmark, or in a folder that `export jsonl` wrote
    #[arg(long, value_name = "FOLDER")]
    against: Option<PathBuf>,
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
    let name = &one_benchmark(&context.layout, &args.name)?;
    let options = CompareOptions {
        targets: target_ids(&args.targets)?,
        against: args.against.clone(),
    };
    let Compared {
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
    } else if comparisons.is_empty() {
        context
            .terminal
            .print("no scenario has a verdict from both\n");
    } else {
        let mut sheets = comparison_sheets(&comparisons, names);
        sheets.push(compared_people_sheet(&people));
        sheets.push(corrected_differences_sheet(&corrected_differences, names));
        let width = context.terminal.page();
        let (mut text, limits) = match args.markdown {
            true => (
                sheets_markdown(&sheets),
                finding_list(&found, &context.program),
            ),
            false => (
                sheets_text(&sheets, width),
                findings::notes(context, &found, width),
            ),
        };
        if !limits.is_empty() && !args.markdown {
            text.push('\n');
        }
        context.terminal.print(&(text + &limits));
    }
    Ok(Exit::Complete)
}
