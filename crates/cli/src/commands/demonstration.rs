//! The demonstration runs with real models only if the user names it.

use probity::Phase;
use store::{provenance::ScriptedAuthors, read_benchmark};

use super::{Context, run::PhaseArgs};
use crate::{benchmarks::Chosen, config::Config, exit::Failure, shipped};

/// Refuses a command without a benchmark name that would run the demonstration with real models.
///
/// # Errors
/// The reason, with advice.
pub fn refuse_bought(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    phases: &[Phase],
    chosen: Chosen,
) -> Result<Chosen, Failure> {
    match bought(context, config, args, phases, &chosen) {
        Some(reason) => Err(Failure::usage(reason)),
        None => Ok(chosen),
    }
}

/// Why the command is refused; `None` if it is not.
pub fn bought(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    phases: &[Phase],
    chosen: &Chosen,
) -> Option<String> {
    let unnamed = args.selection.names.is_empty() && !args.selection.all;
    if !unnamed || !config.settings.models.any_real() {
        return None;
    }
    let name = shipped::DEMONSTRATION;
    let there = match chosen.demonstration()? {
        false => "no benchmark",
        // Once the demonstration is in the folder, commands for a single phase or single targets are not refused.
        true if phases == Phase::ALL && args.targets.is_empty() && is_as_shown(context) => {
            "no benchmark but the demonstration"
        }
        true => return None,
    };
    let xtask = context.program.start();
    Some(format!(
        "{}: {there}; the demonstration calls the configured models only when it is named\nhelp: `{xtask} init NAME` creates a \
         benchmark, `{xtask} run {name}` runs the demonstration with the configured models, `{xtask} run --scripted` runs it without them",
        context.layout.benchmarks().display()
    ))
}

/// Whether the demonstration in the folder has the metrics of scripted models, or no metrics yet.
fn is_as_shown(context: &Context) -> bool {
    let name = shipped::DEMONSTRATION;
    let Ok(dir) = context.layout.benchmark(name) else {
        return true;
    };
    let has_metrics = read_benchmark(&dir).is_ok_and(|benchmark| !benchmark.metrics.is_empty());
    let scripted = || ScriptedAuthors::read(&context.layout, &dir).metrics;
    !has_metrics || scripted().is_some()
}
