//! `cache`: the size of the reply cache, and removing replies from it.

mod prune;
mod stats;

use std::{path::PathBuf, time::SystemTime};

use clap::Subcommand;
use jiff::{Span, Timestamp, Unit, Zoned};
use schema::{numbers::rounded, text::counted};

pub use self::{prune::CachePruneOutput, stats::CacheStatsOutput};

use self::{prune::PruneArgs, stats::StatsArgs};

use super::Context;
use crate::exit::{Exit, Failure};

/// Show the size of the reply cache, or remove replies from it
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    Stats(StatsArgs),
    Prune(PruneArgs),
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
