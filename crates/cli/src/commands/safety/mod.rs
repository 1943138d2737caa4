//! `safety single-turn` and `safety multi-turn`.

mod annotations;
mod args;
mod gate;
mod junit;
mod models;
mod output;
mod packs;
mod plan;
mod rules;
mod run;

use clap::Subcommand;

pub use self::output::SafetyOutput;

use super::Context;
use crate::exit::{Exit, Failure};

const EXIT_CODES: &str = "\
Exit codes (of several targets the first in this order: 130, 3, 4, 1, 5, 0):
  0    the gate holds
  1    the gate fails: the failure rate is above --fail-action-threshold, or a rule of --gate fails
  2    the command line, the configuration or a file is invalid
  3    nothing could be run, or nothing could be scored
  4    more cases without a verdict than --max-errors, or the cases do not decide a rule of --gate
  5    incomplete: the budget was spent, or something could not be saved
  130  interrupted";

/// What `safety` does.
#[derive(Clone, Debug, Subcommand)]
pub enum SafetyCommand {
    /// Put single prompts to the targets, then variations of those that failed
    #[command(after_help = format!("Examples:\n  cargo xtask safety single-turn --scripted\n  \
        cargo xtask safety single-turn --test-case-groups self-harm-risk,privacy --fail-action-threshold 0.05 --junit safety.xml\n  \
        cargo xtask safety single-turn --test-cases advbench.csv --csv-column goal --max-cases 100 --dry-run\n\n{EXIT_CODES}"))]
    SingleTurn(args::SingleTurnArgs),
    /// Let an attacker talk to the targets, in conversations that adapt to their replies
    #[command(after_help = format!("Examples:\n  cargo xtask safety multi-turn --scripted\n  \
        cargo xtask safety multi-turn --max-turns 8 --test-types user_persona --target gpt-4.1-mini\n\n{EXIT_CODES}"))]
    MultiTurn(args::MultiTurnArgs),
}

/// Runs a safety evaluation.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, command: SafetyCommand) -> Result<Exit, Failure> {
    run::run(context, &command.into())
}
