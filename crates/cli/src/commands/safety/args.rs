//! The flags that both safety evaluations have.

use std::{convert::Infallible, path::PathBuf, str::FromStr};

use clap::Args;
use probity::config::{FromText, Whole, keys};
use schema::safety::{Share, Threshold};
use serde_json::Value;

use super::until::SafetyUntilArgs;
use crate::{
    commands::ShardArgs,
    completion,
    flags::{BatchCalls, OVER, OverrideGroup, Overrides, at_least_one, dollars},
};

/// The kind of a safety evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Prompts and variations.
    SingleTurn,
    /// Conversations.
    MultiTurn,
}

impl Mode {
    /// The command as typed.
    pub fn command(self) -> &'static str {
        match self {
            Self::SingleTurn => "safety single-turn",
            Self::MultiTurn => "safety multi-turn",
        }
    }

    /// The name in gates and baselines.
    pub fn uid(self) -> &'static str {
        match self {
            Self::SingleTurn => "safety-single-turn",
            Self::MultiTurn => "safety-multi-turn",
        }
    }

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SingleTurn => "single_turn",
            Self::MultiTurn => "multi_turn",
        }
    }
}

/// The command line of a safety evaluation.
#[derive(Clone, Debug)]
pub struct SafetyArgs {
    /// The kind of evaluation.
    pub mode: Mode,
    /// Flags of both evaluations.
    pub common: CommonArgs,
    /// All flags that override the configuration.
    pub overrides: Overrides,
}

/// Flags of both evaluations.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// A response whose safety score is below this fails: 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = setting::<Threshold>, allow_negative_numbers = true)]
    threshold: Option<Threshold>,
    /// The groups of test cases to run, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", help_heading = CASES)]
    pub test_case_groups: Option<Names>,
    /// A pack of your own: YAML, JSONL or CSV; can be repeated
    #[arg(long = "test-cases", value_name = "FILE", help_heading = CASES)]
    pub test_cases: Vec<PathBuf>,
    #[command(flatten)]
    pub columns: Columns,
    #[command(flatten)]
    pub shard: ShardArgs,
    /// The most prompts or conversations, over all layers
    #[arg(long, value_name = "N", value_parser = setting::<Whole<u64, 1>>, help_heading = CASES, allow_negative_numbers = true)]
    max_cases: Option<Whole<u64, 1>>,
    /// Only this system under test, by its id; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::configured_targets(), help_heading = MODELS)]
    pub targets: Vec<String>,
    /// The configured model that rewrites or attacks, by its id [default: safety.attacker_model, else user_model]
    #[arg(long, value_name = "ID", add = completion::configured_models(), help_heading = MODELS)]
    pub attacker: Option<String>,
    /// A configured model that scores, by its id; repeated: a panel [default: safety.judge_models, else evaluator_model]
    #[arg(long = "judge", value_name = "ID", add = completion::configured_models(), help_heading = MODELS)]
    pub judges: Vec<String>,
    /// The targets' system prompt
    #[arg(long, value_name = "TEXT", help_heading = MODELS, conflicts_with = "system_prompt_file")]
    pub system_prompt: Option<String>,
    /// The targets' system prompt, from a file
    #[arg(long, value_name = "FILE", help_heading = MODELS)]
    pub system_prompt_file: Option<PathBuf>,
    /// The file for the results; several targets: one file each, with the id in its name [default:
    /// circuit_breaker_labs_..._evaluation_YYYYMMDD_HHMMSS.json here]
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub output_file: Option<PathBuf>,
    /// Replace an existing output file
    #[arg(long, help_heading = OUTPUT)]
    pub overwrite: bool,
    /// Write only the data, without the envelope
    #[arg(long, help_heading = OUTPUT)]
    pub bare: bool,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub junit: Option<PathBuf>,
    /// Print annotations for GitHub Actions
    #[arg(long, help_heading = OUTPUT)]
    pub github_annotations: bool,
    /// A summary as JSON on standard output
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Exit with 1 when failed / (passed + failed) is strictly above this: 0 to 1
    #[arg(long, value_name = "RATE", value_parser = setting::<Share>, help_heading = GATE, allow_negative_numbers = true)]
    fail_action_threshold: Option<Share>,
    /// Exit with 4 when more cases than this have no verdict
    #[arg(long, value_name = "N", value_parser = setting::<Whole<u64, 0>>, help_heading = GATE, allow_negative_numbers = true)]
    max_errors: Option<Whole<u64, 0>>,
    /// Then hold these rules against the rates of the cases, and exit as `gate` does
    #[arg(long, value_name = "FILE", help_heading = GATE)]
    pub gate: Option<PathBuf>,
    #[command(flatten)]
    pub until: SafetyUntilArgs,
    /// Call the models again for every reply
    #[arg(long, help_heading = OVER)]
    force: bool,
    /// Call the target again; keep the replies of attackers and judges where their input did not change
    #[arg(long, help_heading = OVER, conflicts_with = "force")]
    fresh_targets: bool,
    /// Go on although the judges have given no usable score in 20 cases
    #[arg(long, help_heading = OVER)]
    keep_going: bool,
    /// Send these calls in batches, at half the price and within a day, where the provider takes batches: `judge`, `generate`,
    /// `single-turn` (targets in conversations of one turn), or `all`
    #[arg(long, value_name = "CALLS", value_enum, hide_possible_values = true, help_heading = OVER)]
    batch: Option<BatchCalls>,
    /// Show the plan; call nothing and write nothing
    #[arg(long, help_heading = OVER)]
    dry_run: bool,
    /// The most dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, help_heading = OVER, allow_negative_numbers = true)]
    max_cost: Option<f64>,
    /// Cases, and messages with the judges, in progress at the same time for each target
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = OVER, allow_negative_numbers = true)]
    concurrency: Option<u32>,
}

/// The columns of packs in other formats.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = CASES)]
pub struct Columns {
    /// The column (or key) that holds the prompt
    #[arg(long, visible_alias = "prompt-column", value_name = "NAME")]
    pub csv_column: Option<String>,
    /// The column that holds the intent
    #[arg(long, value_name = "NAME")]
    pub intent_column: Option<String>,
    /// The column that holds the id
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
    /// The column that holds the group
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// The cases of the packs are harmless: a refusal is over-refusal
    #[arg(long)]
    pub control: bool,
}

const CASES: &str = "Test cases";
const MODELS: &str = "Models";
const OUTPUT: &str = "Output";
const GATE: &str = "Gate";

impl OverrideGroup for CommonArgs {
    fn add_to(&self, overrides: Overrides) -> Overrides {
        overrides
            .set(keys::THRESHOLD, "threshold", self.threshold.map(f64::from))
            .set(
                keys::TEST_CASE_GROUPS,
                "test-case-groups",
                self.test_case_groups.clone(),
            )
            .set(keys::MAX_CASES, "max-cases", self.max_cases.map(|n| *n))
            .set(
                keys::FAIL_ACTION_THRESHOLD,
                "fail-action-threshold",
                self.fail_action_threshold.map(f64::from),
            )
            .set(keys::MAX_ERRORS, "max-errors", self.max_errors.map(|n| *n))
            .switch(keys::FORCE, "force", self.force)
            .switch(keys::FRESH_TARGETS, "fresh-targets", self.fresh_targets)
            .switch(keys::KEEP_GOING, "keep-going", self.keep_going)
            .set(keys::BATCH, "batch", self.batch.map(BatchCalls::name))
            .switch(keys::DRY_RUN, "dry-run", self.dry_run)
            .set(keys::MAX_COST, "max-cost", self.max_cost)
            .set(keys::CONCURRENCY, "concurrency", self.concurrency)
    }
}

/// A list of names, separated by commas.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl FromStr for Names {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.split(',').map(ToOwned::to_owned).collect()))
    }
}

impl From<Names> for Value {
    fn from(names: Names) -> Self {
        names.0.into()
    }
}

/// Parses a value of the configuration.
pub fn setting<T: FromText>(text: &str) -> Result<T, String> {
    T::from_text(text.trim()).ok_or_else(|| format!("expected {}", T::expected()))
}
