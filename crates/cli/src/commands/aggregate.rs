//! `aggregate`: aggregates the scores into results.json.

use clap::Args;
use probity::Phase;

use super::{
    Context,
    run::{PhaseArgs, run_phases},
};
use crate::{
    exit::{Exit, Failure},
    flags::{BenchmarkSelection, Overrides, Verbose},
};

/// Aggregate the scores into results.json
#[derive(Clone, Debug, Args)]
pub struct AggregateArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    verbose: Verbose,
}

impl From<AggregateArgs> for PhaseArgs {
    fn from(args: AggregateArgs) -> Self {
        Self {
            overrides: Overrides::default().with(&args.verbose),
            selection: args.selection,
            ..Self::default()
        }
    }
}

/// Aggregates the scores.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: AggregateArgs) -> Result<Exit, Failure> {
    run_phases(context, &args.into(), &[Phase::Aggregate])
}
