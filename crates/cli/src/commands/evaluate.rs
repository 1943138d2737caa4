//! `evaluate`: judges the conversations.

use clap::Args;
use probity::{Phase, TrialConversations};

use super::{
    Context,
    run::PhaseArgs,
    shard::ShardArgs,
    trial::{TrialArgs, run_trial_or_all},
};
use crate::{
    completion,
    exit::{Exit, Failure},
    flags::{
        Batch, BenchmarkSelection, Calls, Concurrency, KeepGoing, Overrides, PromptArgs, Targets,
        Verbose,
    },
};

/// Judge the conversations
#[derive(Clone, Debug, Args)]
#[command(mut_arg("targets", |arg| arg.add(completion::targets_to_judge())))]
pub struct EvaluateArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    calls: Calls,
    #[command(flatten)]
    concurrency: Concurrency,
    #[command(flatten)]
    prompts: PromptArgs,
    #[command(flatten)]
    keep_going: KeepGoing,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    verbose: Verbose,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    trial: TrialArgs,
}

impl From<EvaluateArgs> for PhaseArgs {
    fn from(args: EvaluateArgs) -> Self {
        Self {
            overrides: Overrides::default()
                .with(&args.calls)
                .with(&args.concurrency)
                .with(&args.keep_going)
                .with(&args.batch)
                .with(&args.verbose),
            selection: args.selection,
            targets: args.targets.targets,
            prompts: args.prompts.into(),
            shard: args.shard,
            ..Self::default()
        }
    }
}

/// Judges the conversations.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: EvaluateArgs) -> Result<Exit, Failure> {
    let trial = args.trial.clone();
    let (args, phases) = (args.into(), [Phase::Evaluate]);
    run_trial_or_all(context, &trial, &args, TrialConversations::Copied, &phases)
}
