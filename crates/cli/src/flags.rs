//! Flags that several commands have, and how they override the configuration.

#[cfg(test)]
mod tests;

use clap::{Args, ValueEnum};
use probity::{PromptChoice, config::keys};
use schema::ProgramFlag;
use serde_json::Value;

use crate::{completion, config::Flag};

/// The heading of flags that override the configuration.
pub const OVER: &str = "Override the configuration";

/// The settings of a command line, as the last layer of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides(Vec<Flag>);

/// A group of flags that override the configuration.
pub trait OverrideGroup {
    /// Adds those that are set.
    fn add_to(&self, overrides: Overrides) -> Overrides;
}

impl Overrides {
    /// Adds the flags of a group.
    #[must_use]
    pub fn with(self, group: &impl OverrideGroup) -> Self {
        group.add_to(self)
    }

    /// Sets `key` to the value of the flag `name`, if it has one.
    #[must_use]
    pub fn set(
        mut self,
        key: &'static str,
        name: &'static str,
        value: Option<impl Into<Value>>,
    ) -> Self {
        self.0.extend(value.map(|value| Flag {
            key,
            name,
            value: value.into(),
        }));
        self
    }

    /// Sets `key` to true, if the flag `name` is there.
    #[must_use]
    pub fn switch(self, key: &'static str, name: &'static str, is_on: bool) -> Self {
        self.set(key, name, is_on.then_some(true))
    }

    /// Whether a flag sets this key.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|flag| flag.key == key)
    }

    /// The flags.
    pub fn flags(&self) -> &[Flag] {
        &self.0
    }

    /// The flag that sets `key`, for commands in hints.
    pub fn hint(&self, key: &str) -> Option<ProgramFlag> {
        let flag = self.0.iter().find(|flag| flag.key == key)?;
        Some(ProgramFlag::new(flag.name).value(&flag.value))
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
    pub targets: Vec<String>,
}

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

impl OverrideGroup for Calls {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides
            .switch(keys::FORCE, "force", self.force)
            .switch(keys::DRY_RUN, "dry-run", self.dry_run)
            .set(keys::MAX_COST, "max-cost", self.max_cost)
    }
}

/// How much a command shows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Verbose {
    /// Show the rates of each metric and every file
    #[arg(long)]
    verbose: bool,
}

impl OverrideGroup for Verbose {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.switch(keys::VERBOSE, "verbose", self.verbose)
    }
}

/// What a run does when its judge gives no usable verdict.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct KeepGoing {
    /// Go on although the judge has given no usable verdict in 20 rows
    #[arg(long)]
    keep_going: bool,
}

impl OverrideGroup for KeepGoing {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.switch(keys::KEEP_GOING, "keep-going", self.keep_going)
    }
}

/// The calls that are sent in batches.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Batch {
    /// Send these calls in batches, at half the price and within a day, where the provider takes batches: `judge`, `generate`,
    /// `single-turn` (targets in conversations of one turn), or `all`
    #[arg(long, value_name = "CALLS", value_enum, hide_possible_values = true)]
    batch: Option<BatchCalls>,
}

/// Calls that can be sent in batches.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BatchCalls {
    Judge,
    Generate,
    SingleTurn,
    All,
}

impl BatchCalls {
    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Generate => "generate",
            Self::SingleTurn => "single-turn",
            Self::All => "all",
        }
    }
}

impl OverrideGroup for Batch {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.set(keys::BATCH, "batch", self.batch.map(BatchCalls::name))
    }
}

/// The number of concurrent rows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Concurrency {
    /// Rows in progress at the same time, in every phase
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    concurrency: Option<u32>,
}

impl OverrideGroup for Concurrency {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.set(keys::CONCURRENCY, "concurrency", self.concurrency)
    }
}

/// The length of conversations.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Turns {
    /// The most exchanges in a conversation
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    turns: Option<u32>,
}

impl OverrideGroup for Turns {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.set(keys::TURNS, "turns", self.turns)
    }
}

/// How often each scenario is simulated.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER)]
pub struct Samples {
    /// Conversations for each scenario and target
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    num_samples: Option<u32>,
}

impl OverrideGroup for Samples {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides.set(keys::NUM_SAMPLES, "num-samples", self.num_samples)
    }
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

/// A whole number of 1 or more.
pub fn at_least_one(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| *n >= 1)
        .ok_or_else(|| "must be a whole number of 1 or more".to_owned())
}

/// Dollars, 0 or more; `$` may stand before them.
pub fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("must be a number of dollars, 0 or more".to_owned()),
    }
}
