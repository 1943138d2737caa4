//! `journal`: reads the journal of a run.

mod check;
mod find;
mod names;
mod page;
mod read;
mod rebuild;
mod scores;
mod show;
mod stats;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use journal::Since;

pub use self::{check::CheckOutput, stats::StatsOutput};

use super::Context;
use crate::{
    completion,
    exit::{Exit, Failure},
};

/// The journal commands.
#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Show the events: all of them, or one item with its messages
    #[command(
        after_help = "Without --prompt-id: one line for each event. With it: all messages, with times from the item's start.\n\n\
        Examples:\n  cargo xtask journal show\n  cargo xtask journal show --prompt-id m01_s001_v01 --sut gpt-4.1\n  \
        cargo xtask journal show run-20261121-015207-588619 --message \"retrying call\" --since 5m"
    )]
    Show(ShowArgs),
    /// Count events, latencies, cache hits, retries, tokens and cost
    Stats(JsonArgs),
    /// Check that journals are consistent with themselves and with the benchmark's files
    #[command(
        after_help = "Exit codes: 0 all rules hold, 1 a rule does not hold, 2 a journal cannot be checked, or has nothing to check."
    )]
    Check(CheckArgs),
    /// Print the scores of hazards, tests and benchmarks as CSV
    Scores {
        /// Which journal.
        #[command(flatten)]
        selection: JournalSelection,
    },
    /// Write conversations, scores, cost and results from a journal alone
    ///
    /// Checks the journal first, and says what it could not restore.
    #[command(
        after_help = "Exit codes: 0 nothing is known to be missing, 1 not everything could be restored, 2 nothing can be rebuilt."
    )]
    Rebuild {
        /// Which journal.
        #[command(flatten)]
        selection: JournalSelection,
        /// The folder to write to: empty, or new
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Which journal.
#[derive(Clone, Debug, Args)]
pub struct JournalSelection {
    /// A journal, a run's folder, a run's id, or a benchmark: its newest run [default: the newest run of all]
    #[arg(value_name = "PATH", add = completion::benchmarks_and_paths())]
    pub path: Option<PathBuf>,
}

/// A journal, and how to print.
#[derive(Clone, Debug, Args)]
pub struct JsonArgs {
    /// Which journal.
    #[command(flatten)]
    pub selection: JournalSelection,
    /// The result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Flags of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Journals, or the folders or ids of runs, or benchmarks: all journals of their newest runs [default: the newest run of all]
    #[arg(value_name = "PATH", add = completion::benchmarks_and_paths())]
    pub paths: Vec<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Flags of `show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Which journal.
    #[command(flatten)]
    pub selection: JournalSelection,
    /// Only the items of this prompt, with all messages
    #[arg(long, value_name = "ID")]
    pub prompt_id: Option<String>,
    /// Only events of this system under test
    #[arg(long, value_name = "ID", add = completion::simulated_targets())]
    pub sut: Option<String>,
    /// Only events of this test
    #[arg(long, value_name = "ID")]
    pub test: Option<String>,
    /// Only events of this type, such as "sut exception"
    #[arg(long, value_name = "MESSAGE")]
    pub message: Option<String>,
    /// Only events from this time on: 2026-11-21T01:52:03Z, or 90s, counted from the journal's start
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// The events as JSON, one a line
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When there is no such journal, it cannot be read, or no event matches.
pub fn run(context: &Context, command: &JournalCommand) -> Result<Exit, Failure> {
    match command {
        JournalCommand::Show(args) => show::run(context, args),
        JournalCommand::Stats(args) => stats::run(context, args),
        JournalCommand::Check(args) => check::run(context, args),
        JournalCommand::Scores { selection } => scores::run(context, selection),
        JournalCommand::Rebuild { selection, out } => rebuild::run(context, selection, out),
    }
}

/// The journal of the benchmark `name` in the run `run_id`, if there is one.
pub fn journal_of_run(context: &Context, name: &str, run_id: &str) -> Option<PathBuf> {
    let journals = find::journals(context, Some(Path::new(run_id))).ok()?;
    let is_of = |path: &PathBuf| probity::journal_benchmark(path).as_deref() == Some(name);
    journals.into_iter().rfind(is_of)
}
