//! The flags of safety evaluations.

use std::path::PathBuf;

use clap::Args;

use super::SafetyCommand;
use crate::{completion, config::Flag};

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
    /// The flags of this kind, as layers over the configuration.
    own: Vec<Flag>,
}

/// Flags of `single-turn`.
#[derive(Clone, Debug, Args)]
pub struct SingleTurnArgs {
    /// Rewritten prompts for each case that continues to the next layer
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    variations: Option<String>,
    /// Layers after layer 0; 0 runs the seed prompts only
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    maximum_iteration_layers: Option<String>,
    /// How prompts are rewritten, in the order in which the strategies take turns: paraphrase, role_play, hypothetical,
    /// emotional_pressure, authority_claim, splitting, translation
    #[arg(long, value_name = "NAMES")]
    strategies: Option<String>,
    /// Which cases continue to the next layer: failed, passed or all
    #[arg(long, value_name = "WHICH")]
    go_on: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Flags of `multi-turn`.
#[derive(Clone, Debug, Args)]
pub struct MultiTurnArgs {
    /// The most messages in a conversation, an even number: 8 is four user and four assistant messages
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_turns: Option<String>,
    /// The strategies to simulate each case with: user_persona, semantic_chunks
    #[arg(long, value_name = "NAMES")]
    test_types: Option<String>,
    /// End a conversation after the first failed response
    #[arg(long)]
    early_stop: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Flags of both evaluations.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// A response whose safety score is below this fails: 0 to 1
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    threshold: Option<String>,
    /// The groups of test cases to run, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", help_heading = CASES)]
    pub test_case_groups: Option<String>,
    /// A pack of your own: YAML, JSONL or CSV; can be repeated
    #[arg(long = "test-cases", value_name = "FILE", help_heading = CASES)]
    pub test_cases: Vec<PathBuf>,
    #[command(flatten)]
    pub columns: Columns,
    /// The most prompts or conversations, over all layers
    #[arg(long, value_name = "N", help_heading = CASES, allow_negative_numbers = true)]
    max_cases: Option<String>,
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
    system_prompt: Option<String>,
    /// The targets' system prompt, from a file
    #[arg(long, value_name = "FILE", help_heading = MODELS)]
    system_prompt_file: Option<String>,
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
    #[arg(long, value_name = "RATE", help_heading = GATE, allow_negative_numbers = true)]
    fail_action_threshold: Option<String>,
    /// Exit with 4 when more cases than this have no verdict
    #[arg(long, value_name = "N", help_heading = GATE, allow_negative_numbers = true)]
    max_errors: Option<String>,
    /// Then hold these rules against the rates of the cases, and exit as `gate` does
    #[arg(long, value_name = "FILE", help_heading = GATE)]
    pub gate: Option<PathBuf>,
    /// Call the models again for every reply
    #[arg(long, help_heading = OVER)]
    force: bool,
    /// Call the target again; keep the replies of attackers and judges where their input did not change
    #[arg(long, help_heading = OVER, conflicts_with = "force")]
    fresh_targets: bool,
    /// Go on although the judges have given no usable score in 20 cases
    #[arg(long, help_heading = OVER)]
    keep_going: bool,
    /// Show the plan; call nothing and write nothing
    #[arg(long, help_heading = OVER)]
    dry_run: bool,
    /// The most dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", help_heading = OVER, allow_negative_numbers = true)]
    max_cost: Option<String>,
    /// Cases, and messages with the judges, in progress at the same time for each target
    #[arg(long, value_name = "N", help_heading = OVER, allow_negative_numbers = true)]
    concurrency: Option<String>,
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
const OVER: &str = "Override the configuration";

impl SafetyArgs {
    /// The flags as the last layer of the configuration.
    pub fn flags(&self) -> Vec<Flag> {
        let common = &self.common;
        let yes = |on: bool| on.then(|| "true".to_owned());
        let mut flags = Flags(self.own.clone());
        flags.set("safety.threshold", "--threshold", &common.threshold);
        flags.set(
            "safety.test_case_groups",
            "--test-case-groups",
            &common.test_case_groups,
        );
        flags.set("safety.max_cases", "--max-cases", &common.max_cases);
        flags.set(
            "safety.fail_action_threshold",
            "--fail-action-threshold",
            &common.fail_action_threshold,
        );
        flags.set("safety.max_errors", "--max-errors", &common.max_errors);
        flags.set("run.force", "--force", &yes(common.force));
        let fresh = yes(common.fresh_targets);
        flags.set("run.fresh_targets", "--fresh-targets", &fresh);
        let keep_going = yes(common.keep_going);
        flags.set("run.keep_going", "--keep-going", &keep_going);
        flags.set("run.dry_run", "--dry-run", &yes(common.dry_run));
        flags.set("budget.max_cost", "--max-cost", &common.max_cost);
        for key in ["run.concurrency.simulate", "run.concurrency.evaluate"] {
            flags.set(key, "--concurrency", &common.concurrency);
        }
        flags.0
    }

    /// The system prompt from the command line, and whether it is the path of a file.
    pub fn system_prompt(&self) -> Option<(&str, bool)> {
        let common = &self.common;
        let text = common.system_prompt.as_deref().map(|text| (text, false));
        let file = common.system_prompt_file.as_deref();
        text.or(file.map(|file| (file, true)))
    }
}

struct Flags(Vec<Flag>);

impl Flags {
    fn set(&mut self, key: &'static str, name: &'static str, value: &Option<String>) {
        let value = value.clone();
        self.0.extend(value.map(|value| Flag { key, name, value }));
    }
}

impl From<SafetyCommand> for SafetyArgs {
    fn from(command: SafetyCommand) -> Self {
        let mut own = Flags(Vec::new());
        match command {
            SafetyCommand::SingleTurn(args) => {
                own.set("safety.variations", "--variations", &args.variations);
                own.set(
                    "safety.maximum_iteration_layers",
                    "--maximum-iteration-layers",
                    &args.maximum_iteration_layers,
                );
                own.set("safety.strategies", "--strategies", &args.strategies);
                own.set("safety.go_on", "--go-on", &args.go_on);
                Self {
                    mode: Mode::SingleTurn,
                    common: args.common,
                    own: own.0,
                }
            }
            SafetyCommand::MultiTurn(args) => {
                own.set("safety.max_turns", "--max-turns", &args.max_turns);
                own.set("safety.test_types", "--test-types", &args.test_types);
                let early = args.early_stop.then(|| "true".to_owned());
                own.set("safety.early_stop", "--early-stop", &early);
                Self {
                    mode: Mode::MultiTurn,
                    common: args.common,
                    own: own.0,
                }
            }
        }
    }
}
