//! `cargo xtask chaos`: what a run promises, under faults, kills and limits. Prints tables, and ends with 1 if a promise was broken.
//!
//! Each case is a project in a folder of its own, the command in a process of its own, and the scripted server in this one, which counts
//! how often it answered each request.

mod faults;
mod kills;
mod limits;
mod mutants;
mod project;
mod promises;
mod proxy;
mod random;
mod soak;
mod table;
mod together;

use std::{error::Error, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

/// Flags of `cargo xtask chaos`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChaosArgs {
    /// How long each part goes on, in seconds: the case in progress comes to its end.
    #[arg(long, default_value_t = 60, global = true)]
    seconds: u64,
    /// What cases and moments follow from.
    #[arg(long, default_value_t = 1, global = true)]
    seed: u64,
    #[command(subcommand)]
    part: Option<Part>,
}

/// The parts. Without one, all but the soak run, one after the other.
#[derive(Clone, Debug, Subcommand)]
enum Part {
    /// Faults of the server and of the network, at 10, 50 and 100% of calls, alone and mixed.
    Faults,
    /// Commands that write, killed at random moments and run again.
    Kills {
        /// The kills of each command.
        #[arg(long, default_value_t = 100)]
        kills: u32,
    },
    /// A full disk, few open files, a clock that is set back and forth.
    Limits,
    /// Two processes on one tree, and on one cache.
    Together,
    /// Files from outside, changed at random.
    Mutants,
    /// One long run: memory and open files.
    Soak {
        /// Conversations of one turn.
        #[arg(long, default_value_t = 100_000)]
        conversations: usize,
    },
    /// Give changed files to the parsers.
    #[command(hide = true)]
    Read { more: PathBuf, kept: PathBuf },
}

/// Runs the parts. Returns the number of broken promises.
pub(crate) async fn run(args: ChaosArgs) -> Result<usize, Box<dyn Error>> {
    let (time, seed) = (Duration::from_secs(args.seconds), args.seed);
    match args.part {
        Some(Part::Faults) => faults::measure(time, seed).await,
        Some(Part::Kills { kills }) => kills::measure(kills, time, seed).await,
        Some(Part::Limits) => limits::measure(time, seed).await,
        Some(Part::Together) => together::measure(time, seed).await,
        Some(Part::Mutants) => mutants::measure(time, seed).await,
        Some(Part::Soak { conversations }) => soak::measure(conversations).await,
        Some(Part::Read { more, kept }) => {
            let read =
                move || mutants::read(time, seed, &more, &kept).map_err(|error| error.to_string());
            tokio::task::spawn_blocking(read).await??;
            Ok(0)
        }
        None => {
            let mut broken = faults::measure(time, seed).await?;
            broken += kills::measure(u32::MAX, time, seed).await?;
            broken += limits::measure(time, seed).await?;
            broken += together::measure(time, seed).await?;
            broken += mutants::measure(time, seed).await?;
            Ok(broken)
        }
    }
}
