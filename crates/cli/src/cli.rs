//! The command line.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue},
};
use schema::nearest;

use crate::commands::{
    AggregateArgs, BaselineArgs, CacheCommand, CalibrateArgs, CompareArgs, CompletionsArgs,
    DoctorArgs, EvaluateArgs, ExportArgs, GateArgs, GenMetricsArgs, GenScenariosArgs, ImportArgs,
    InitArgs, JournalCommand, JudgeCheckArgs, LabelArgs, ListArgs, ManArgs, MergeArgs, PackArgs,
    PlanArgs, ReplayArgs, ReportArgs, RunArgs, RunsCommand, SafetyCommand, ShowArgs, SimulateArgs,
    StatusArgs, ValidateArgs, ViewArgs,
};

/// The program's name in the examples below.
const EXAMPLE: &str = "cargo xtask";

const EXIT_CODES: &str = "\
Exit codes:
  0    complete
  1    the run finished, but some rows failed or could not be saved
  2    the command line or the configuration is invalid
  3    nothing could be run
  130  interrupted";

const EXAMPLES: &str = "\
Examples:
  cargo xtask run                         the shipped demonstration: no key, no setup
  cargo xtask init my-benchmark           a new benchmark and its config.yaml
  cargo xtask plan my-benchmark           calls, tokens and dollars, before any call
  cargo xtask run my-benchmark            all five phases
  cargo xtask evaluate my-benchmark --target gpt-4.1 --force
  PROBITY_GENERATION__TURNS=6 cargo xtask run my-benchmark";

/// Measures how language models behave under conversational pressure.
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(arg_required_else_help = true, propagate_version = false)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// The command line of the program `name`, with that name in its examples and with the subcommands `more`.
pub fn command(name: &str, more: impl IntoIterator<Item = clap::Command>) -> clap::Command {
    let command = named(Cli::command(), name).name(name.to_owned());
    command.bin_name(name).subcommands(more)
}

/// Replaces the program's name in the examples of `command` and of all its subcommands by `name`.
fn named(command: clap::Command, name: &str) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string);
    let command = match examples {
        Some(text) => command.after_help(text.replace(EXAMPLE, name)),
        None => command,
    };
    command.mut_subcommands(|below| named(below, name))
}

/// Parses `arguments`.
///
/// # Errors
/// clap's error if they are invalid or only ask for help.
pub fn parse(
    mut command: clap::Command,
    arguments: &[OsString],
) -> Result<ArgMatches, clap::Error> {
    command
        .try_get_matches_from_mut(arguments)
        .map_err(|error| suggested(error, &command, arguments))
}

/// Puts the likely intended command into clap's error. Clap's own similarity measure misses short words: for `rnu` it names `runs`, not `run`.
fn suggested(mut error: clap::Error, root: &clap::Command, arguments: &[OsString]) -> clap::Error {
    if !cfg!(feature = "cluster") && needs_workers(&error) {
        let tip = ContextValue::StyledStrs(vec![WITHOUT_WORKERS.into()]);
        error.insert(ContextKind::Suggested, tip);
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let mut parent = root;
    for argument in arguments
        .iter()
        .take_while(|argument| *argument != typed.as_str())
    {
        parent = parent.find_subcommand(argument).unwrap_or(parent);
    }
    let names = parent.get_subcommands().map(clap::Command::get_name);
    if let Some(near) = nearest(typed, names) {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    error
}

/// What a build without workers on other machines says where they are needed.
const WITHOUT_WORKERS: &str = "this program was built without the feature `cluster`, which runs rows on other machines: the Python package and the \
    image have it, and `cargo build --release -p probity-cli --features cluster` makes a program that has it";

/// Whether what clap does not know is a flag or command of the feature `cluster`.
fn needs_workers(error: &clap::Error) -> bool {
    let unknown = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    unknown(ContextKind::InvalidArg).starts_with("--nats")
        || unknown(ContextKind::InvalidSubcommand) == "worker"
}

/// The commands. The help of each stands with its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    GenMetrics(GenMetricsArgs),
    GenScenarios(GenScenariosArgs),
    Simulate(SimulateArgs),
    Evaluate(EvaluateArgs),
    Aggregate(AggregateArgs),
    Calibrate(CalibrateArgs),
    Report(ReportArgs),
    View(ViewArgs),
    List(ListArgs),
    Show(ShowArgs),
    Status(StatusArgs),
    #[cfg(feature = "cluster")]
    Worker(crate::commands::WorkerArgs),
    Compare(CompareArgs),
    Baseline(BaselineArgs),
    Gate(GateArgs),
    Label(Box<LabelArgs>),
    JudgeCheck(Box<JudgeCheckArgs>),
    #[command(subcommand)]
    Safety(Box<SafetyCommand>),
    Export(ExportArgs),
    Import(ImportArgs),
    Merge(MergeArgs),
    Pack(PackArgs),
    Replay(ReplayArgs),
    Plan(PlanArgs),
    Doctor(DoctorArgs),
    #[command(subcommand)]
    Journal(JournalCommand),
    #[command(subcommand)]
    Cache(CacheCommand),
    #[command(subcommand)]
    Runs(RunsCommand),
    Validate(ValidateArgs),
    Init(InitArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The folder of benchmarks [default: benchmarks, here or in the nearest project above]
    #[arg(long, value_name = "DIR", global = true)]
    pub benchmarks: Option<PathBuf>,
    /// The configuration [default: config.yaml or probity.toml of the project, where there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Use the scripted models instead of the configured ones
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_makes_sense() {
        command("probity", []).debug_assert();
    }

    #[test]
    fn examples_have_the_name_of_the_program() {
        let help = command("mine", []).render_long_help().to_string();
        assert!(help.contains("  mine run my-benchmark"), "{help}");
        assert!(!help.contains("xtask"), "{help}");
    }

    #[cfg(not(feature = "cluster"))]
    #[test]
    fn a_build_without_workers_says_where_they_are() {
        for line in [
            &["probity", "worker", "--nats", "nats://queue"][..],
            &["probity", "run", "honesty", "--nats", "nats://queue"],
            &["probity", "run", "honesty", "--nats-lease", "10"],
        ] {
            let line: Vec<OsString> = line.iter().map(Into::into).collect();
            let error = parse(command("probity", []), &line).unwrap_err();
            assert!(error.to_string().contains("feature `cluster`"), "{error}");
        }
    }

    #[test]
    fn a_misspelled_command_gets_a_suggestion() {
        for (line, expected) in [
            (&["probity", "rnu"][..], Some("run")),
            (&["probity", "simulat"], Some("simulate")),
            (&["probity", "--quiet", "journal", "shwo"], Some("show")),
            (&["probity", "zzz"], None),
        ] {
            let arguments: Vec<OsString> = line.iter().map(OsString::from).collect();
            let text = parse(command("probity", []), &arguments)
                .unwrap_err()
                .to_string();
            let tip = expected.map(|name| format!("similar subcommand exists: '{name}'"));
            match tip {
                Some(tip) => assert!(text.contains(&tip), "{text}"),
                None => assert!(!text.contains("similar"), "{text}"),
            }
        }
    }
}
