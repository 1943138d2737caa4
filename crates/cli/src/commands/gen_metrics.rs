//! `gen-metrics`: writes metrics from the description.

use clap::Args;
use probity::Phase;

use super::{
    Context,
    run::{PhaseArgs, run_phases},
};
use crate::{
    exit::{Exit, Failure},
    flags::{BenchmarkSelection, Calls, Overrides},
};

/// Write metrics from the description
#[derive(Clone, Debug, Args)]
#[command(mut_arg("force", |arg| arg.help("Replace the existing metrics, with new calls")))]
pub struct GenMetricsArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    calls: Calls,
}

impl From<GenMetricsArgs> for PhaseArgs {
    fn from(args: GenMetricsArgs) -> Self {
        Self {
            overrides: Overrides::default().with(&args.calls),
            selection: args.selection,
            ..Self::default()
        }
    }
}

/// Generates the metrics.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: GenMetricsArgs) -> Result<Exit, Failure> {
    run_phases(context, &args.into(), &[Phase::GenMetrics])
}
