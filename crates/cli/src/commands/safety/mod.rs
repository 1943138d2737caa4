//! `safety single-turn` and `safety multi-turn`.

mod annotations;
mod args;
mod cassette;
mod evaluation;
mod gate;
mod junit;
mod models;
mod multi_turn;
mod output;
mod packs;
mod plan;
mod rules;
mod run;
mod single_turn;
mod until;

use clap::Subcommand;

pub use self::output::SafetyOutput;

pub use self::{
    args::SafetyArgs,
    cassette::{pack, replay},
};

use self::{multi_turn::MultiTurnArgs, single_turn::SingleTurnArgs};
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

/// Evaluate the safety of the targets: single prompts and their variations, or whole conversations
#[derive(Clone, Debug, Subcommand)]
pub enum SafetyCommand {
    SingleTurn(SingleTurnArgs),
    MultiTurn(MultiTurnArgs),
}

impl From<SafetyCommand> for SafetyArgs {
    fn from(command: SafetyCommand) -> Self {
        match command {
            SafetyCommand::SingleTurn(args) => args.into(),
            SafetyCommand::MultiTurn(args) => args.into(),
        }
    }
}

/// Runs a safety evaluation.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, command: SafetyCommand) -> Result<Exit, Failure> {
    run::run(context, &command.into())
}
