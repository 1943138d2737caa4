//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Flag;

const EXIT_CODES: &str = "\
Exit codes:
  0    complete
  1    the run finished, and some rows failed
  2    the command line or the configuration cannot be used
  3    nothing could be run
  130  interrupted";

const EXAMPLES: &str = "\
Examples:
  cargo xtask run                         the shipped demonstration: no key, no set-up
  cargo xtask init my-benchmark           a new benchmark, and a config to go with it
  cargo xtask plan my-benchmark           calls, tokens and dollars before anything is asked
  cargo xtask run my-benchmark            all five phases
  cargo xtask evaluate my-benchmark --target gpt-4.1 --force
  PROBITY_GENERATION__TURNS=6 cargo xtask run my-benchmark";

/// Measures how language models behave under conversational pressure.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(
    arg_required_else_help = true,
    propagate_version = false,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run all phases: from a description to results
    ///
    /// What is there is kept: metrics and scenarios belong to you, and every reply that was received before is not asked
    /// for again. So the same command goes on where an interrupted run stopped.
    #[command(
        after_help = "Without BENCHMARK: the one benchmark in the folder, or the shipped demonstration where there is none.\n\n\
        Examples:\n  cargo xtask run\n  cargo xtask run honesty safety --target gpt-4.1\n  cargo xtask run --all --max-cost 5"
    )]
    Run(PhaseArgs),
    /// Write metrics from the description
    GenMetrics(PhaseArgs),
    /// Write scenarios for the metrics
    GenScenarios(PhaseArgs),
    /// Play the scenarios against the targets
    Simulate(PhaseArgs),
    /// Judge the conversations
    Evaluate(PhaseArgs),
    /// Sum the scores up into results.json
    Aggregate(PhaseArgs),
    /// Show rows, calls, tokens and dollars of a run before a cent is spent
    Plan(PhaseArgs),
    /// Check configuration, keys and endpoints with one tiny call each
    Doctor(Overrides),
    /// Measure whole pipelines against the scripted server, beside a floor client
    #[command(after_help = "Figures to compare come from `cargo run --release -p xtask -- bench`.")]
    Bench(crate::bench::BenchArgs),
    /// Begin a new benchmark: writes benchmark.yaml, and config.yaml where there is none
    Init {
        /// The benchmark's name, which names its folder
        name: String,
    },
}

/// What the commands take that work on benchmarks.
#[derive(Clone, Debug, Args)]
pub struct PhaseArgs {
    /// Benchmarks by name: folders in the benchmarks folder, or shipped ones
    #[arg(value_name = "BENCHMARK", conflicts_with = "all")]
    pub names: Vec<String>,
    /// Every benchmark in the folder
    #[arg(long)]
    pub all: bool,
    /// Only this system under test, by its id; can be repeated
    #[arg(long = "target", value_name = "ID")]
    pub targets: Vec<String>,
    /// Settings of the run.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// Flags that stand over the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Over the configuration")]
pub struct Overrides {
    /// Ask anew for every reply; gen-metrics and gen-scenarios replace what is there
    #[arg(long)]
    pub force: bool,
    /// Show the plan; call nothing and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Rows in work at the same time, in every phase
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub concurrency: Option<u32>,
    /// Conversations for each scenario and target
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub num_samples: Option<u32>,
    /// Exchanges of a conversation at most
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub turns: Option<u32>,
    /// Dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// What all randomness comes from
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl Overrides {
    /// The flags as the last layer of the configuration.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        let mut set = |key, name, value: Option<String>| {
            flags.extend(value.map(|value| Flag { key, name, value }));
        };
        let yes = |on: bool| on.then(|| "true".to_owned());
        let text = |n: Option<u32>| n.map(|n| n.to_string());
        set("run.force", "--force", yes(self.force));
        set("run.dry_run", "--dry-run", yes(self.dry_run));
        for key in [
            "run.concurrency.gen_scenarios",
            "run.concurrency.simulate",
            "run.concurrency.evaluate",
        ] {
            set(key, "--concurrency", text(self.concurrency));
        }
        set(
            "generation.num_samples",
            "--num-samples",
            text(self.num_samples),
        );
        set("generation.turns", "--turns", text(self.turns));
        set(
            "budget.max_cost",
            "--max-cost",
            self.max_cost.map(|dollars| dollars.to_string()),
        );
        set("seed", "--seed", self.seed.map(|seed| seed.to_string()));
        flags
    }
}

/// What holds for every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// The folder of benchmarks
    #[arg(long, value_name = "DIR", default_value = "benchmarks", global = true)]
    pub benchmarks: PathBuf,
    /// The configuration [default: config.yaml or probity.toml, where there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Use the scripted models, whatever the configuration says
    #[arg(long, global = true)]
    pub scripted: bool,
    /// No progress and no notes
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Diagnostics: error, warn, info, debug, trace, or a filter such as llm_client=debug [default: RUST_LOG, or warn]
    #[arg(long, value_name = "LEVEL|FILTER", global = true)]
    pub log: Option<String>,
    /// Diagnostics as JSON, one object a line
    #[arg(long, global = true)]
    pub log_json: bool,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

fn at_least_one(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| *n >= 1)
        .ok_or_else(|| "must be a whole number of 1 or more".to_owned())
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("must be a number of dollars, 0 or more".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_makes_sense() {
        Cli::command().debug_assert();
    }
}
