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

pub use self::{check::CheckOutput, stats::StatsOutput};

use self::{
    check::CheckArgs, rebuild::RebuildArgs, scores::ScoresArgs, show::ShowArgs, stats::StatsArgs,
};

use super::Context;
use crate::{
    completion,
    exit::{Exit, Failure},
};

/// Read the journal of a run: show, stats, scores, check, rebuild
#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    Show(ShowArgs),
    Stats(StatsArgs),
    Check(CheckArgs),
    Scores(ScoresArgs),
    Rebuild(RebuildArgs),
}

/// Which journal.
#[derive(Clone, Debug, Args)]
pub struct JournalSelection {
    /// A journal, a run's folder, a run's id, or a benchmark: its newest run [default: the newest run of all]
    #[arg(value_name = "PATH", add = completion::benchmarks_and_paths())]
    pub path: Option<PathBuf>,
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
        JournalCommand::Scores(args) => scores::run(context, args),
        JournalCommand::Rebuild(args) => rebuild::run(context, args),
    }
}

/// The journal of the benchmark `name` in the run `run_id`, if there is one.
pub fn journal_of_run(context: &Context, name: &str, run_id: &str) -> Option<PathBuf> {
    let journals = find::journals(context, Some(Path::new(run_id))).ok()?;
    let is_of = |path: &PathBuf| probity::journal_benchmark(path).as_deref() == Some(name);
    journals.into_iter().rfind(is_of)
}
