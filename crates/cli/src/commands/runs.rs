//! `runs`: removing the records of old runs.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use jiff::Span;
use report::{Column, Sheet, sheets_text};
use schema::text::counted;
use schemars::JsonSchema;
use serde::Serialize;
use store::{OldRun, OldRuns, old_runs};

use super::{
    Context,
    cache::{age, size, time_before},
    output::CommandOutput,
};
use crate::exit::{Exit, Failure};

/// Remove the records of old runs: journals and manifests
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    Prune(PruneRunsArgs),
}

/// Remove the records of old runs: their journals and manifests
///
/// Without --yes it lists what it would remove, and removes nothing. Runs that the files of a benchmark come from are kept, those whose
/// replies are in these files, and those that a later run continued. No result is lost.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask runs prune --older-than 30d\n  cargo xtask runs prune --older-than 30d --yes"
)]
pub struct PruneRunsArgs {
    /// Only runs that started longer ago than this: 12h, 30d, 6mo
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Span,
    /// Remove them; without it nothing is removed
    #[arg(long)]
    yes: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `runs prune`.
#[derive(Serialize, JsonSchema)]
pub struct RunsPruneOutput<'a> {
    /// Whether runs were only counted.
    dry_run: bool,
    /// The runs whose records were removed, or would be.
    removed: &'a [OldRun],
    /// Bytes of their records.
    bytes: u64,
    /// The runs of that age that are kept.
    kept: Vec<KeptRunOutput<'a>>,
}

impl CommandOutput for RunsPruneOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["runs prune"];
}

/// An old run whose records are needed.
#[derive(Serialize, JsonSchema)]
struct KeptRunOutput<'a> {
    /// The run.
    #[serde(flatten)]
    run: &'a OldRun,
    /// What needs its records.
    why: String,
}

/// Runs the command.
///
/// # Errors
/// When the folder of runs cannot be read, or a file cannot be removed.
pub fn run(context: &Context, command: &RunsCommand) -> Result<Exit, Failure> {
    let RunsCommand::Prune(args) = command;
    let runs = old_runs(&context.layout, time_before(args.older_than)?)?;
    if args.yes {
        runs.unneeded.iter().try_for_each(OldRun::remove)?;
    }
    if args.json {
        let output = RunsPruneOutput::new(args, &runs);
        context.print_json("runs prune", Exit::Complete, &output);
    } else {
        context.terminal.print(&text(context, args, &runs));
    }
    Ok(Exit::Complete)
}

fn bytes<'r>(runs: impl IntoIterator<Item = &'r OldRun>) -> u64 {
    runs.into_iter().map(|run| run.bytes).sum()
}

impl<'a> RunsPruneOutput<'a> {
    fn new(args: &PruneRunsArgs, runs: &'a OldRuns) -> Self {
        let kept = runs.needed.iter().map(|(run, why)| KeptRunOutput {
            run,
            why: why.to_string(),
        });
        Self {
            dry_run: !args.yes,
            removed: &runs.unneeded,
            bytes: bytes(&runs.unneeded),
            kept: kept.collect(),
        }
    }
}

fn text(context: &Context, args: &PruneRunsArgs, runs: &OldRuns) -> String {
    let removed = runs
        .unneeded
        .iter()
        .map(|run| (run, run.benchmarks.join(", ")));
    let mut text = list(removed);
    let (count, all) = (runs.unneeded.len() as u64, size(bytes(&runs.unneeded)));
    let counted_runs = counted(count, "run", "runs");
    let _ = match (count, args.yes) {
        (0, _) => writeln!(
            text,
            "nothing to remove: no run is older than {:#} and unneeded",
            args.older_than
        ),
        (_, true) => writeln!(text, "removed the records of {counted_runs}: {all}"),
        (_, false) => writeln!(
            text,
            "would remove the records of {counted_runs}: {all}\nhelp: `{} runs prune --older-than {:#} --yes` removes them",
            context.program.start(),
            args.older_than
        ),
    };
    if !runs.needed.is_empty() {
        let (count, all) = (
            runs.needed.len() as u64,
            runs.needed.iter().map(|(run, _)| run),
        );
        let _ = writeln!(
            text,
            "kept {}: {}",
            counted(count, "older run", "older runs"),
            size(bytes(all))
        );
    }
    text + &list(runs.needed.iter().map(|(run, why)| (run, why.to_string())))
}

/// A line for each run: its id, its size, and a text about it.
fn list<'r>(runs: impl Iterator<Item = (&'r OldRun, String)>) -> String {
    let columns = vec![Column::words(""), Column::number(""), Column::words("")];
    let mut sheet = Sheet::new("runs", "", columns);
    for (run, about) in runs {
        sheet.row(vec![
            run.run_id.to_string().into(),
            size(run.bytes).into(),
            about.into(),
        ]);
    }
    sheets_text([&sheet], usize::MAX)
}
