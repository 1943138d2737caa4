//! `gen-scenarios`: writes scenarios for the metrics.

use clap::Args;
use probity::Phase;

use super::{
    Context,
    run::{PhaseArgs, run_phases},
};
use crate::{
    exit::{Exit, Failure},
    flags::{BenchmarkSelection, Calls, Concurrency, Overrides, Turns},
};

/// Write scenarios for the metrics
#[derive(Clone, Debug, Args)]
#[command(mut_arg("force", |arg| arg.help("Replace the existing scenarios, with new calls")))]
pub struct GenScenariosArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    /// Add rows for metrics without rows to a scenarios.json of your own, too; existing rows are kept
    #[arg(long)]
    add: bool,
    #[command(flatten)]
    calls: Calls,
    #[command(flatten)]
    concurrency: Concurrency,
    #[command(flatten)]
    turns: Turns,
}

impl From<GenScenariosArgs> for PhaseArgs {
    fn from(args: GenScenariosArgs) -> Self {
        Self {
            overrides: Overrides::default()
                .with(&args.calls)
                .with(&args.concurrency)
                .with(&args.turns),
            selection: args.selection,
            add: args.add,
            ..Self::default()
        }
    }
}

/// Generates the scenarios.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: GenScenariosArgs) -> Result<Exit, Failure> {
    run_phases(context, &args.into(), &[Phase::GenScenarios])
}
