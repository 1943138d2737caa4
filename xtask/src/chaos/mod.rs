//! `cargo xtask chaos`: what a run promises, under faults, kills and limits. Prints tables, and ends with 1 if a promise was broken.
//!
//! Each case is a project in a folder of its own, the command in a process of its own, and the scripted server in this one, which counts
//! how often it answered each request.

mod cluster;
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
mod trial;
mod undisturbed;

use std::{env, error::Error, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use self::trial::Trial;

/// Flags of `cargo xtask chaos`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChaosArgs {
    /// How long each part goes on, in seconds: the case in progress comes to its end.
    #[arg(long, default_value_t = 60, global = true, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// What cases and moments follow from.
    #[arg(long, default_value_t = 1, global = true)]
    seed: u64,
    /// The command that is tried, such as an installed `probity` [default: the one of this build].
    #[arg(long, value_name = "PATH", global = true)]
    program: Option<PathBuf>,
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
    /// Rows on workers, of which one, the run or the NATS server is killed each second. Needs a nats-server, and a command with workers.
    Cluster,
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
    /// Write the files that `mutants` changes into a folder, as inputs of the fuzz targets in `fuzz/`.
    Corpus {
        /// The folder, such as fuzz/corpus. Files in it stay.
        folder: PathBuf,
    },
    /// Give changed files to the parsers.
    #[command(hide = true)]
    Read { more: PathBuf, kept: PathBuf },
}

/// Runs the parts. Returns the number of broken promises.
pub(crate) async fn run(args: ChaosArgs) -> Result<usize, Box<dyn Error>> {
    let trial = Trial {
        // Commands run in folders of their own.
        program: match args.program {
            Some(program) => program
                .canonicalize()
                .map_err(|error| format!("{}: {error}", program.display()))?,
            None => env::current_exe()?,
        },
        time: Duration::from_secs(args.seconds),
        seed: args.seed,
    };
    match args.part {
        Some(Part::Faults) => faults::measure(&trial).await,
        Some(Part::Kills { kills }) => kills::measure(&trial, kills).await,
        Some(Part::Cluster) => cluster::measure(&trial).await,
        Some(Part::Limits) => limits::measure(&trial).await,
        Some(Part::Together) => together::measure(&trial).await,
        Some(Part::Mutants) => mutants::measure(&trial).await,
        Some(Part::Soak { conversations }) => soak::measure(&trial, conversations).await,
        Some(Part::Corpus { folder }) => {
            mutants::write_corpus(&trial, &folder).await?;
            Ok(0)
        }
        Some(Part::Read { more, kept }) => {
            let read = move || {
                let (time, seed) = (trial.time, trial.seed);
                mutants::read(time, seed, &more, &kept).map_err(|error| error.to_string())
            };
            tokio::task::spawn_blocking(read).await??;
            Ok(0)
        }
        None => {
            let mut broken = faults::measure(&trial).await?;
            broken += kills::measure(&trial, u32::MAX).await?;
            broken += cluster::measure(&trial).await?;
            broken += limits::measure(&trial).await?;
            broken += together::measure(&trial).await?;
            broken += mutants::measure(&trial).await?;
            Ok(broken)
        }
    }
}
