//! Flags of runs and of single phases on some of the scenarios.

use clap::Args;
use probity::{Phase, RowCondition, RowFilter, TrialConversations, config::keys, make_trial};
use schema::numbers::grouped;
use tempfile::TempDir;

use super::{
    Context,
    run::{PhaseArgs, run_phases},
    shard::{self, ShardFolder},
};
use crate::{
    benchmarks::choose,
    exit::{Exit, Failure},
};

/// Some of the scenarios.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "A trial on some scenarios")]
pub struct TrialArgs {
    /// Only N scenarios, taken from the metrics in turn. A trial has a folder of its own, and its replies count for the whole run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Only the scenarios of this metric
    #[arg(long, value_name = "ID")]
    metric: Option<String>,
    /// Only this scenario
    #[arg(long, value_name = "ID")]
    scenario: Option<String>,
    /// Only the scenarios for which this holds: KEY=VALUE, KEY!=VALUE or KEY~TEXT, such as tags=hard; can be repeated
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<RowCondition>,
}

impl TrialArgs {
    /// What the flags choose; `None` without any.
    fn row_filter(&self) -> Option<RowFilter> {
        let values = [
            ("metric", self.metric.as_deref()),
            ("scenario", self.scenario.as_deref()),
        ];
        let filter = RowFilter::of(&values, &self.filter, self.limit);
        (filter != RowFilter::default()).then_some(filter)
    }

    /// Whether the flags choose some of the scenarios.
    pub fn is_trial(&self) -> bool {
        self.row_filter().is_some()
    }

    /// Makes the trial that the flags describe; `None` without such flags.
    ///
    /// # Errors
    /// When no scenario fits, or the trial cannot be made.
    fn begin(
        &self,
        context: &Context,
        args: &PhaseArgs,
        conversations: TrialConversations,
    ) -> Result<Option<TrialRun>, Failure> {
        let Some(filter) = self.row_filter() else {
            return Ok(None);
        };
        let chosen = choose(&context.layout, &args.selection, false)?;
        // A dry run leaves an earlier trial as it is.
        let temporary = match args.overrides.has(keys::DRY_RUN) {
            true => Some(TempDir::new().map_err(|error| Failure::nothing_ran(error.to_string()))?),
            false => None,
        };
        let folder = match &temporary {
            Some(folder) => folder.path().to_owned(),
            None => context.layout.trials(),
        };
        let trial = make_trial(
            &context.layout,
            &folder,
            &chosen.names,
            &filter,
            conversations,
        )?;
        for (name, kept, all) in &trial.scenarios {
            context.terminal.note(&format!(
                "{name}: a trial on {} of {} scenarios. The results of {name} stay as they are; the trial's own are in {}, and its replies are \
                 cached for the whole run",
                grouped(*kept),
                grouped(*all),
                trial.layout.benchmarks().display()
            ));
        }
        let program = context.program.clone();
        let mut args = args.clone();
        args.selection.all = false;
        args.selection.names = chosen.names;
        args.versions = trial.versions;
        Ok(Some(TrialRun {
            context: Context {
                program: program.for_benchmarks(trial.layout.benchmarks()),
                layout: trial.layout,
                ..context.clone()
            },
            args,
            _temporary: temporary,
        }))
    }
}

/// Runs `phases`, on a trial or a part where the flags choose some of the scenarios.
///
/// # Errors
/// When nothing can be run.
pub fn run_trial_or_all(
    context: &Context,
    trial: &TrialArgs,
    args: &PhaseArgs,
    conversations: TrialConversations,
    phases: &[Phase],
) -> Result<Exit, Failure> {
    if trial.is_trial() && args.shard.is_part() {
        return Err(Failure::usage(
            "a trial is on some scenarios already: leave out --shard, or the flags that choose scenarios",
        ));
    }
    if let Some(trial) = trial.begin(context, args, conversations)? {
        return run_phases(&trial.context, &trial.args, phases);
    }
    let folder = match args.overrides.has(keys::DRY_RUN) {
        true => ShardFolder::Temporary,
        false => ShardFolder::Kept,
    };
    match shard::begin(context, args, folder)? {
        Some(part) => run_phases(&part.context, &part.args, phases),
        None => run_phases(context, args, phases),
    }
}

/// What a trial runs on.
struct TrialRun {
    /// The context of its run.
    context: Context,
    /// The arguments of its run.
    args: PhaseArgs,
    /// The folder of a dry run, which is removed with this.
    _temporary: Option<TempDir>,
}
