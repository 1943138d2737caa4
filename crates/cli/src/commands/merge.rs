//! `merge`: joins the trees of shards.

use std::path::{Path, PathBuf};

use clap::Args;
use probity::{MergeOptions, MergeReport, MergedBenchmark, MergedSafety, MergedTarget, merge};
use report::{Column, Sheet, sheets_text};
use schema::{ModelId, numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;
use store::MergedShard;

use super::{Context, git, output::CommandOutput};
use crate::{
    exit::{Exit, Failure},
    flags::Overrides,
};

/// Join the trees of shards, which `run --shard` made
///
/// Rows, costs, labels, results, statistics and grades are those of a run that was not split, byte for byte. Response caches are joined, and
/// journals kept side by side. The shards are not changed.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the merged tree is whole, 1 it lacks rows, 2 the shards do not belong together.\n\n\
    Examples:\n  cargo xtask merge whole shards/*\n  cargo xtask merge whole shards/1-of-2 shards/2-of-2 --force"
)]
pub struct MergeArgs {
    /// The folder of the merged tree, which is created
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The folders of the shards, or of an earlier merge that lacks some
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `merge`.
#[derive(Serialize, JsonSchema)]
pub struct MergeOutput<'a> {
    /// The id of the merge's record.
    run_id: &'a str,
    /// The folder of the merged benchmarks.
    folder: String,
    /// Whether no row is missing.
    is_whole: bool,
    /// The benchmarks.
    benchmarks: Vec<MergedOutput<'a>>,
    /// The parts of safety evaluations.
    safety: Vec<MergedSafetyOutput<'a>>,
    /// The shards.
    shards: &'a [MergedShard],
    /// Replies in the merged cache.
    replies: u64,
}

impl CommandOutput for MergeOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["merge"];
}

/// Parts of a safety evaluation whose replies and journals are joined.
#[derive(Serialize, JsonSchema)]
struct MergedSafetyOutput<'a> {
    /// `safety_single_turn` or `safety_multi_turn`.
    kind: &'a str,
    /// How many parts there are.
    of: u32,
    /// The parts that were not run, or not to their end.
    lacking: Vec<u32>,
}

/// A merged benchmark.
#[derive(Serialize, JsonSchema)]
struct MergedOutput<'a> {
    /// The benchmark's folder.
    name: &'a str,
    /// What it lacks; null where it is whole.
    lacks: Option<&'a str>,
    /// Its targets.
    targets: Vec<MergedTargetOutput<'a>>,
}

/// A target of a merged benchmark.
#[derive(Serialize, JsonSchema)]
struct MergedTargetOutput<'a> {
    /// The system under test.
    target: &'a ModelId,
    /// Its conversations.
    conversations: u64,
    /// Its rows of scores.
    scores: u64,
}

/// Joins the trees.
///
/// # Errors
/// When the shards do not belong together, or the merged tree cannot be written.
pub fn run(context: &Context, args: &MergeArgs) -> Result<Exit, Failure> {
    let options = MergeOptions {
        out: args.out.clone(),
        shards: args.shards.clone(),
        force: args.force,
        standards: standards(context),
        git: git::state(),
    };
    let report = merge(&options)?;
    let exit = match report.is_whole() {
        true => Exit::Complete,
        false => Exit::FailedRows,
    };
    for note in &report.notes {
        context.terminal.note(note);
    }
    if args.json {
        context.print_json("merge", exit, &MergeOutput::new(&report));
    } else {
        context.terminal.print(&text(&report));
    }
    for benchmark in &report.benchmarks {
        if let Some(lacks) = &benchmark.lacks {
            let folder = report.benchmarks_folder.display();
            let (name, program) = (&benchmark.name, context.program.name());
            context.terminal.warning(&format!(
                "{name}: {lacks}\nhelp: merge again with the missing shards, or `{program} --benchmarks {folder} run {name}` plays what is \
                 missing"
            ));
        }
    }
    for parts in &report.safety {
        report_safety(context, &report, parts);
    }
    Ok(exit)
}

/// Says how the result files of a safety evaluation are made of its parts, and which of them are missing.
fn report_safety(context: &Context, report: &MergeReport, parts: &MergedSafety) {
    let folder = report.benchmarks_folder.display();
    let mode = parts.kind.trim_start_matches("safety_").replace('_', "-");
    let program = context.program.name();
    let makes = format!(
        "`{program} --benchmarks {folder} safety {mode}` with the cases and the configuration of the parts"
    );
    let lacking: Vec<String> = parts.lacking().map(|part| part.to_string()).collect();
    match lacking.is_empty() {
        true => context.terminal.note(&format!(
            "safety {mode}: the replies of all {} parts are joined; {makes} writes the results and calls nobody",
            parts.of
        )),
        false => context.terminal.warning(&format!(
            "safety {mode}: of {} parts these were not run to their end: {}\nhelp: merge again with them, or {makes} runs what is missing",
            parts.of,
            lacking.join(", ")
        )),
    }
}

/// What grades compare with, by the configuration. Without one that can be read, it is the benchmark's own.
fn standards(context: &Context) -> Option<PathBuf> {
    let config = context.load(Overrides::default().flags()).ok()?;
    config.standards().ok().flatten()
}

impl<'a> MergeOutput<'a> {
    fn new(report: &'a MergeReport) -> Self {
        let targets = |benchmark: &'a MergedBenchmark| {
            let targets = benchmark.targets.iter();
            targets.map(|target: &MergedTarget| MergedTargetOutput {
                target: &target.id,
                conversations: target.conversations,
                scores: target.scores,
            })
        };
        let benchmarks = report.benchmarks.iter().map(|benchmark| MergedOutput {
            name: &benchmark.name,
            lacks: benchmark.lacks.as_deref(),
            targets: targets(benchmark).collect(),
        });
        Self {
            run_id: &report.run_id,
            folder: folder(&report.benchmarks_folder),
            is_whole: report.is_whole(),
            benchmarks: benchmarks.collect(),
            safety: report
                .safety
                .iter()
                .map(|parts| MergedSafetyOutput {
                    kind: &parts.kind,
                    of: parts.of,
                    lacking: parts.lacking().collect(),
                })
                .collect(),
            shards: &report.shards,
            replies: report.replies,
        }
    }
}

fn folder(path: &Path) -> String {
    path.display().to_string()
}

fn text(report: &MergeReport) -> String {
    let columns = vec![
        Column::words("benchmark"),
        Column::words("target"),
        Column::number("conversations"),
        Column::number("scores"),
    ];
    let mut sheet = Sheet::new("merged", "", columns);
    for benchmark in &report.benchmarks {
        for target in &benchmark.targets {
            sheet.row(vec![
                benchmark.name.clone().into(),
                target.id.to_string().into(),
                grouped(target.conversations).into(),
                grouped(target.scores).into(),
            ]);
        }
    }
    let journals: usize = report.shards.iter().map(|shard| shard.journals.len()).sum();
    format!(
        "{}merged {} into {}: {}, {} in the cache\n",
        sheets_text([&sheet], usize::MAX),
        counted(report.shards.len() as u64, "folder", "folders"),
        report.benchmarks_folder.display(),
        counted(journals as u64, "journal", "journals"),
        counted(report.replies, "reply", "replies"),
    )
}
