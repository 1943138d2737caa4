//! `simulate`: simulates the scenarios with the targets.

use clap::Args;
use probity::{Phase, TrialConversations, config::keys};

use super::{
    Context,
    run::PhaseArgs,
    shard::ShardArgs,
    trial::{TrialArgs, run_trial_or_all},
};
use crate::{
    exit::{Exit, Failure},
    flags::{
        BenchmarkSelection, Calls, Concurrency, OVER, Overrides, PromptArgs, Samples, Targets,
        Turns, Verbose,
    },
};

/// Simulate the scenarios with the targets
#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    calls: Calls,
    #[command(flatten)]
    concurrency: Concurrency,
    #[command(flatten)]
    samples: Samples,
    #[command(flatten)]
    turns: Turns,
    /// The seed of all randomness
    #[arg(long, value_name = "N", help_heading = OVER)]
    seed: Option<u64>,
    /// Call the models again for this conversation alone, by its conv_id; can be repeated
    #[arg(long = "force-row", value_name = "CONV_ID", help_heading = OVER, conflicts_with = "force")]
    force_rows: Vec<String>,
    /// Call the targets again; keep the replies of users and judges where their input did not change
    #[arg(long, help_heading = OVER, conflicts_with_all = ["force", "force_rows"])]
    fresh_targets: bool,
    #[command(flatten)]
    prompts: PromptArgs,
    #[command(flatten)]
    verbose: Verbose,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    pub(super) trial: TrialArgs,
}

impl From<SimulateArgs> for PhaseArgs {
    fn from(args: SimulateArgs) -> Self {
        Self {
            overrides: Overrides::default()
                .with(&args.calls)
                .with(&args.concurrency)
                .with(&args.samples)
                .with(&args.turns)
                .with(&args.verbose)
                .set(keys::SEED, "seed", args.seed)
                .switch(keys::FRESH_TARGETS, "fresh-targets", args.fresh_targets),
            selection: args.selection,
            targets: args.targets.targets,
            force_rows: args.force_rows,
            prompts: args.prompts.into(),
            shard: args.shard,
            ..Self::default()
        }
    }
}

/// Simulates the conversations.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: SimulateArgs) -> Result<Exit, Failure> {
    let trial = args.trial.clone();
    let (args, phases) = (args.into(), [Phase::Simulate]);
    run_trial_or_all(context, &trial, &args, TrialConversations::New, &phases)
}
