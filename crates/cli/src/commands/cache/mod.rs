//! `cache`: the size of the reply cache, and removing replies from it.

mod prune;
mod stats;

use std::{path::PathBuf, time::SystemTime};

use clap::{Args, Subcommand};
use jiff::{Span, Timestamp, Unit, Zoned};
use schema::{numbers::rounded, text::counted};

pub use self::{prune::CachePruneOutput, stats::CacheStatsOutput};

use super::Context;
use crate::exit::{Exit, Failure};

/// Show the size of the reply cache, or remove replies from it
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show how large the cache is, what it holds by endpoint and model, and how many replies are damaged
    Stats(StatsArgs),
    /// Remove replies from the cache, and make its file smaller
    ///
    /// A run that needs a removed reply calls the model again. It can be used while a run is in progress.
    #[command(
        after_help = "Examples:\n  cargo xtask cache prune --older-than 30d --dry-run\n  cargo xtask cache prune --model gpt-4.1\n  cargo xtask cache prune --damaged"
    )]
    Prune(PruneArgs),
}

/// Flags of `cache stats`.
#[derive(Clone, Debug, Args)]
pub struct StatsArgs {
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Flags of `cache prune`.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["older_than", "model", "damaged"]))]
pub struct PruneArgs {
    /// Remove replies that were stored longer ago than this: 12h, 30d, 6mo
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Option<Span>,
    /// Remove replies of this model, by its name at the endpoint; with --older-than the old ones of them
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Remove damaged rows
    #[arg(long, conflicts_with_all = ["older_than", "model"])]
    damaged: bool,
    /// Count what would be removed; remove nothing
    #[arg(long)]
    dry_run: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// A length of time: `30d`.
pub fn age(text: &str) -> Result<Span, String> {
    match text.trim().parse::<Span>() {
        Ok(span) if span.is_positive() => Ok(span),
        _ => Err("expected a length of time such as 12h, 30d or 6mo".to_owned()),
    }
}

/// The time that is `age` ago, given by `--older-than`.
///
/// # Errors
/// When it is longer than time can be counted.
pub fn time_before(age: Span) -> Result<Timestamp, Failure> {
    match Zoned::now().checked_sub(age) {
        Ok(before) => Ok(before.timestamp()),
        Err(_) => Err(Failure::usage(format!(
            "--older-than {age}: longer than time can be counted"
        ))),
    }
}

/// Runs a command on the cache.
///
/// # Errors
/// When there is no cache, or it cannot be read or written.
pub fn run(context: &Context, command: &CacheCommand) -> Result<Exit, Failure> {
    match command {
        CacheCommand::Stats(args) => stats::run(context, args),
        CacheCommand::Prune(args) => prune::run(context, args),
    }
}

/// The cache file. SQLite's error for a missing file is less clear.
fn existing(context: &Context) -> Result<PathBuf, Failure> {
    let path = context.layout.cache();
    match path.exists() {
        true => Ok(path),
        false => Err(Failure::usage(format!(
            "there is no cache: {} does not exist; a run creates it",
            path.display()
        ))),
    }
}

/// A time to the second, in UTC.
fn time(time: SystemTime) -> Option<String> {
    let time = Timestamp::try_from(time).ok()?;
    Some(time.round(Unit::Second).ok()?.to_string())
}

/// A size for people: `1.2 MB`.
pub fn size(bytes: u64) -> String {
    let (mut size, mut unit) = (bytes as f64, "bytes");
    for larger in ["kB", "MB", "GB", "TB"] {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, larger);
    }
    match unit {
        "bytes" => counted(bytes, "byte", "bytes"),
        _ => format!("{} {unit}", rounded(size, 1)),
    }
}
