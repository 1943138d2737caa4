//! The flags of the commands on benchmarks: each command has only the flags that affect it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use probity::PromptChoice;

use crate::{completion, config::Flag};

/// The flags of a command on benchmarks. Flags that the command does not have are unset.
#[derive(Clone, Debug, Default)]
pub struct PhaseArgs {
    /// The selected benchmarks.
    pub selection: BenchmarkSelection,
    /// The selected systems under test; empty: all.
    pub targets: Vec<String>,
    /// Overrides of the configuration.
    pub overrides: Overrides,
    /// `--want-difference`: the difference between two targets for which a plan computes the number of
    /// scenarios.
    pub want_difference: Option<f64>,
    /// `--add`: also adds rows to a `scenarios.json` that was not generated here.
    pub add: bool,
    /// `--gate`: the rules that determine the exit code of a run, and whose chances a plan shows.
    pub gate: Option<PathBuf>,
    /// `--force-row`: conversations for which the models are called again.
    pub force_rows: Vec<String>,
    /// `--prompts`: whether benchmarks move on to the newest prompts and rules.
    pub prompts: PromptChoice,
}

/// The settings of the command line, which override the configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--force`
    pub force: bool,
    /// `--fresh-targets`
    pub fresh_targets: bool,
    /// `--keep-going`
    pub keep_going: bool,
    /// `--dry-run`
    pub dry_run: bool,
    /// `--verbose`
    pub verbose: bool,
    /// `--concurrency`
    pub concurrency: Option<u32>,
    /// `--num-samples`
    pub num_samples: Option<u32>,
    /// `--turns`
    pub turns: Option<u32>,
    /// `--max-cost`
    pub max_cost: Option<f64>,
    /// `--seed`
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
        set(
            "run.fresh_targets",
            "--fresh-targets",
            yes(self.fresh_targets),
        );
        set("run.keep_going", "--keep-going", yes(self.keep_going));
        set("run.dry_run", "--dry-run", yes(self.dry_run));
        set("run.verbose", "--verbose", yes(self.verbose));
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

/// Which benchmarks a command works on, and its output format.
#[derive(Clone, Debug, Default, Args)]
pub struct BenchmarkSelection {
    /// Benchmarks by name: folders in the benchmarks folder, or shipped ones
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks_and_shipped(), conflicts_with = "all")]
    pub names: Vec<String>,
    /// Every benchmark in the folder
    #[arg(long)]
    pub all: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Some of the systems under test.
#[derive(Clone, Debug, Default, Args)]
pub struct Targets {
    /// Only this system under test, by its id; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::configured_targets())]
    targets: Vec<String>,
}

const OVER: &str = "Override the configuration";

/// Flags of every command that calls models.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Calls {
    /// Call the models again for every reply
    #[arg(long)]
    force: bool,
    /// Show the plan; call nothing and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The most dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<f64>,
}

/// How much a command shows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Verbose {
    /// Show the rates of each metric and every file
    #[arg(long)]
    verbose: bool,
}

/// What a run does when its judge gives no usable verdict.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct KeepGoing {
    /// Go on although the judge has given no usable verdict in 20 rows
    #[arg(long)]
    keep_going: bool,
}

/// The number of concurrent rows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Concurrency {
    /// Rows in progress at the same time, in every phase
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    concurrency: Option<u32>,
}

/// The length of conversations.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Turns {
    /// The most exchanges in a conversation
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    turns: Option<u32>,
}

/// How often each scenario is simulated.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Samples {
    /// Conversations for each scenario and target
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    num_samples: Option<u32>,
}

/// Which versions of the shipped prompts and rules are used.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PromptVersion {
    Latest,
}

/// The versions of the shipped prompts and rules.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct PromptArgs {
    /// Move a benchmark on to the newest judge prompts and fault rules; without it, it keeps those that it began with
    #[arg(long, value_name = "VERSION", value_enum, hide_possible_values = true)]
    prompts: Option<PromptVersion>,
}

impl From<PromptArgs> for PromptChoice {
    fn from(args: PromptArgs) -> Self {
        match args.prompts {
            Some(PromptVersion::Latest) => Self::Latest,
            None => Self::Kept,
        }
    }
}

/// Flags of `run` and `simulate`.
#[derive(Clone, Debug, Default, Args)]
pub struct PlayArgs {
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
}

/// Flags of `run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    #[command(flatten)]
    play: PlayArgs,
    #[command(flatten)]
    keep_going: KeepGoing,
    /// Hold these rules against the results: the run ends as `gate` does
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
}

/// Flags of `gen-metrics`.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    calls: Calls,
}

/// Flags of `gen-scenarios`.
#[derive(Clone, Debug, Default, Args)]
pub struct ScenariosArgs {
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

/// Flags of `evaluate`.
#[derive(Clone, Debug, Default, Args)]
pub struct JudgeArgs {
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
    verbose: Verbose,
}

/// Flags of `aggregate`.
#[derive(Clone, Debug, Default, Args)]
pub struct AggregateArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    verbose: Verbose,
}

/// Flags of `plan`.
#[derive(Clone, Debug, Default, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    samples: Samples,
    #[command(flatten)]
    turns: Turns,
    #[command(flatten)]
    prompts: PromptArgs,
    /// What it takes to call the targets again, with the replies of users and judges where their input does not change
    #[arg(long, help_heading = OVER)]
    fresh_targets: bool,
    /// The most dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, allow_negative_numbers = true, help_heading = OVER)]
    max_cost: Option<f64>,
    /// How many scenarios it takes to show this difference between two targets, such as 0.1
    #[arg(long, value_name = "DIFFERENCE", value_parser = difference, allow_negative_numbers = true)]
    want_difference: Option<f64>,
    /// How likely these rules of a gate pass, fail or are not decided
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
}

impl Calls {
    /// The overrides, with the number of concurrent rows.
    pub fn with_concurrency(&self, concurrency: &Concurrency) -> Overrides {
        Overrides {
            concurrency: concurrency.concurrency,
            ..self.overrides()
        }
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            force: self.force,
            dry_run: self.dry_run,
            max_cost: self.max_cost,
            ..Overrides::default()
        }
    }
}

impl From<RunArgs> for PhaseArgs {
    fn from(args: RunArgs) -> Self {
        let mut phases = Self::from(args.play);
        phases.overrides.keep_going = args.keep_going.keep_going;
        phases.gate = args.gate;
        phases
    }
}

impl From<PlayArgs> for PhaseArgs {
    fn from(args: PlayArgs) -> Self {
        Self {
            overrides: Overrides {
                concurrency: args.concurrency.concurrency,
                num_samples: args.samples.num_samples,
                turns: args.turns.turns,
                seed: args.seed,
                fresh_targets: args.fresh_targets,
                verbose: args.verbose.verbose,
                ..args.calls.overrides()
            },
            selection: args.selection,
            targets: args.targets.targets,
            add: false,
            gate: None,
            force_rows: args.force_rows,
            prompts: args.prompts.into(),
            want_difference: None,
        }
    }
}

impl From<MetricsArgs> for PhaseArgs {
    fn from(args: MetricsArgs) -> Self {
        Self {
            overrides: args.calls.overrides(),
            ..args.selection.into()
        }
    }
}

impl From<ScenariosArgs> for PhaseArgs {
    fn from(args: ScenariosArgs) -> Self {
        Self {
            overrides: Overrides {
                concurrency: args.concurrency.concurrency,
                turns: args.turns.turns,
                ..args.calls.overrides()
            },
            add: args.add,
            ..args.selection.into()
        }
    }
}

impl From<JudgeArgs> for PhaseArgs {
    fn from(args: JudgeArgs) -> Self {
        Self {
            overrides: Overrides {
                keep_going: args.keep_going.keep_going,
                verbose: args.verbose.verbose,
                ..args.calls.with_concurrency(&args.concurrency)
            },
            selection: args.selection,
            targets: args.targets.targets,
            add: false,
            gate: None,
            force_rows: Vec::new(),
            prompts: args.prompts.into(),
            want_difference: None,
        }
    }
}

impl From<AggregateArgs> for PhaseArgs {
    fn from(args: AggregateArgs) -> Self {
        Self {
            overrides: Overrides {
                verbose: args.verbose.verbose,
                ..Overrides::default()
            },
            ..args.selection.into()
        }
    }
}

impl From<BenchmarkSelection> for PhaseArgs {
    fn from(selection: BenchmarkSelection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }
}

impl From<PlanArgs> for PhaseArgs {
    fn from(args: PlanArgs) -> Self {
        Self {
            overrides: Overrides {
                num_samples: args.samples.num_samples,
                turns: args.turns.turns,
                fresh_targets: args.fresh_targets,
                max_cost: args.max_cost,
                ..Overrides::default()
            },
            selection: args.selection,
            targets: args.targets.targets,
            add: false,
            gate: args.gate,
            force_rows: Vec::new(),
            prompts: args.prompts.into(),
            want_difference: args.want_difference,
        }
    }
}

fn at_least_one(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| *n >= 1)
        .ok_or_else(|| "must be a whole number of 1 or more".to_owned())
}

fn difference(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(difference) if difference > 0.0 && difference < 1.0 => Ok(difference),
        _ => Err("must be a difference of two rates, above 0 and below 1, such as 0.1".to_owned()),
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("must be a number of dollars, 0 or more".to_owned()),
    }
}
