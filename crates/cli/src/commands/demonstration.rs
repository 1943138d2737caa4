//! The demonstration is run with real models only when somebody asks for it.

use probity::Phase;
use store::read_benchmark;

use super::{Context, provenance::BenchmarkProvenance};
use crate::{benchmarks::Chosen, config::Config, exit::Failure, flags::PhaseArgs, shipped};

/// Refuses a command without a name that would pay real models for the demonstration.
///
/// # Errors
/// What to do instead.
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

/// Why such a command is refused, where it is.
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
        // Single phases and targets are named one by one.
        true if phases == Phase::ALL && args.targets.is_empty() && is_as_shown(context) => {
            "no benchmark but the demonstration"
        }
        true => return None,
    };
    let xtask = context.layout.command();
    Some(format!(
        "{}: {there}; the demonstration calls the configured models only when it is named\nhelp: `{xtask} init NAME` creates a \
         benchmark, `{xtask} run {name}` runs the demonstration with the configured models, `{xtask} run --scripted` runs it without them",
        context.layout.benchmarks().display()
    ))
}

/// Whether the demonstration in the folder has the metrics of scripted models, or none yet.
fn is_as_shown(context: &Context) -> bool {
    let name = shipped::DEMONSTRATION;
    let dir = context.layout.benchmark(name);
    let benchmark = dir.and_then(|dir| read_benchmark(&dir));
    let has_metrics = benchmark.is_ok_and(|benchmark| !benchmark.metrics.is_empty());
    let scripted = || BenchmarkProvenance::read(&context.layout, name).scripted_metrics;
    !has_metrics || scripted().is_some()
}
