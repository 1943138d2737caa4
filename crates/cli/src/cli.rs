//! The command line.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue},
};
use schema::nearest;

use crate::commands::{
    BaselineArgs, CacheCommand, CalibrateArgs, CompareArgs, ExportArgs, GateArgs, ImportArgs,
    JournalCommand, JudgeCheckArgs, LabelArgs, ReportArgs, RunsCommand, SafetyCommand, StatusArgs,
    ValidateArgs, ViewArgs,
};
use crate::completion;
use crate::flags::{
    AggregateArgs, JudgeArgs, MetricsArgs, PlanArgs, PlayArgs, RunArgs, ScenariosArgs,
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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run all phases: from a description to results
    #[command(
        after_help = "Existing metrics and scenarios are kept, and cached replies are not called for again, so the same command resumes an \
        interrupted run.\nWithout BENCHMARK: the only benchmark in the folder, or the shipped demonstration where there is none.\n\n\
        Examples:\n  cargo xtask run\n  cargo xtask run honesty safety --target gpt-4.1\n  cargo xtask run --all --max-cost 5"
    )]
    #[command(mut_arg("force", |arg| arg.help(
        "Call the models again for every reply; metrics and scenarios are kept (gen-metrics --force and gen-scenarios --force replace them)"
    )))]
    Run(RunArgs),
    /// Write metrics from the description
    #[command(mut_arg("force", |arg| arg.help("Replace the existing metrics, with new calls")))]
    GenMetrics(MetricsArgs),
    /// Write scenarios for the metrics
    #[command(mut_arg("force", |arg| arg.help("Replace the existing scenarios, with new calls")))]
    GenScenarios(ScenariosArgs),
    /// Simulate the scenarios with the targets
    Simulate(PlayArgs),
    /// Judge the conversations
    #[command(mut_arg("targets", |arg| arg.add(completion::targets_to_judge())))]
    Evaluate(JudgeArgs),
    /// Aggregate the scores into results.json
    Aggregate(AggregateArgs),
    /// Write the standards that grades compare with, from the scores of reference systems
    ///
    /// The scores come from the benchmark tree: run the benchmark with the reference systems first. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask run honesty --target gpt-4.1\n  cargo xtask calibrate honesty --reference gpt-4.1"
    )]
    Calibrate(CalibrateArgs),
    /// Write a page to look at: rates, rows and conversations of finished runs
    ///
    /// It opens in any browser without a network. Everything comes from the files and journals of the runs. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask report honesty\n  cargo xtask report honesty --rows notable --out honesty.html\n  cargo xtask \
            report --all --out report"
    )]
    Report(ReportArgs),
    /// Show the results of a benchmark in the browser, follow its run, and label rows
    ///
    /// Serves the page of `report` on this machine only, under an address that nobody can guess. Ctrl-C ends it. No model is called, and
    /// only labels are written, and what they say of the judge.
    #[command(
        after_help = "Examples:\n  cargo xtask view honesty\n  cargo xtask view honesty --open --labeller ana"
    )]
    View(ViewArgs),
    /// Show the state of a run in progress: progress, calls, limits, failures, cost and time left
    ///
    /// Reads only the run's files, so it works from another terminal and disturbs no run. Where no run is in progress it shows the last one.
    /// No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask status\n  cargo xtask status honesty --json\n  watch -n 2 cargo xtask status\n\nExit codes:\n  \
            0    the run goes on, or has ended\n  1    the run died before its end\n  2    no such run, or none is recorded"
    )]
    Status(StatusArgs),
    /// Compare targets, or runs of one target, scenario by scenario
    ///
    /// Everything comes from the scores in the tree. No model is called, and nothing is written.
    #[command(
        after_help = "Examples:\n  cargo xtask compare honesty\n  cargo xtask compare honesty gpt-4.1 gpt-5 --markdown\n  cargo xtask \
            compare honesty --against ../last-month/benchmarks/honesty"
    )]
    Compare(CompareArgs),
    /// Write baseline.json, the counts that a gate compares later runs with
    ///
    /// The counts come from the scores in the tree. Keep the file in git. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask baseline honesty\n  cargo xtask baseline honesty --target gpt-4.1 --out ci/honesty.json"
    )]
    Baseline(BaselineArgs),
    /// Hold rules against the rates of a benchmark: pass, fail, or not decided by the rows
    ///
    /// Rules are on the bounds of intervals, differences to a baseline, rows without a verdict and cost. Everything comes from the files of the
    /// benchmark. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask gate honesty --rules gate.yaml\n  cargo xtask gate honesty --rules gate.yaml --junit gate.xml \
            --summary summary.md\n\nExit codes:\n  0    every rule passed\n  1    a rule failed\n  2    rules, baseline or scores cannot be \
            used\n  4    no rule failed, and the rows do not decide one"
    )]
    Gate(GateArgs),
    /// Label rows by hand, and see how far the judge agrees and the rate that people would give
    ///
    /// Goes through the rows of a target blind, in the order that the corrected rate needs. Each answer is written to labels.json at once; the
    /// same command goes on where it was left. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask label honesty --target gpt-4.1 --labeller ana\n  cargo xtask label honesty --target gpt-4.1 \
            --metric m02 --limit 20\n  cargo xtask label honesty --import labels.csv"
    )]
    Label(Box<LabelArgs>),
    /// Check a judge against labels of people in a CSV, JSONL or JSON file
    ///
    /// The file holds the judge's verdicts too, or conversations that the configured evaluator model judges. Labels of rows in a benchmark go
    /// into its labels.json; every run then says how far the judge agrees.
    #[command(
        after_help = "Examples:\n  cargo xtask judge-check labels.csv --label-column human --judge-column judge\n  cargo xtask judge-check \
            refusals.csv --label-column human_score --user-column prompt --reply-column reply --definition 'The assistant refuses.' \
            --metric-type positive --dry-run"
    )]
    JudgeCheck(Box<JudgeCheckArgs>),
    /// Evaluate the safety of the targets: single prompts and their variations, or whole conversations
    #[command(subcommand)]
    Safety(Box<SafetyCommand>),
    /// Export finished runs to other formats: Every Eval Ever, Inspect, JUnit, CSV, JSONL, a job summary
    ///
    /// Everything comes from the files of the benchmark and its journals. No model is called.
    #[command(
        after_help = "Examples:\n  cargo xtask export eee honesty --out submission\n  cargo xtask export csv --all --strict\n  cargo \
            xtask export summary honesty"
    )]
    Export(ExportArgs),
    /// Import conversations of other programs, to judge them with evaluate: a benchmark tree, Inspect logs, Every Eval Ever
    #[command(
        after_help = "Creates a benchmark from existing conversations. No model is called.\n\nExamples:\n  cargo xtask import inspect logs/x.eval --as theirs --metrics metrics.yaml\n  \
        cargo xtask import eee submission/data --as rescored\n  cargo xtask import ../impactbench/benchmarks/honesty\n  \
        cargo xtask evaluate theirs"
    )]
    Import(ImportArgs),
    /// Show the rows, calls, tokens and dollars of a run without calling a model
    Plan(PlanArgs),
    /// Check configuration, keys and endpoints with one tiny call each
    Doctor {
        /// The result as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Read the journal of a run: show, stats, scores, check, rebuild
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Show the size of the reply cache, or remove replies from it
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Remove the records of old runs: journals and manifests
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Check files: a benchmark, a run, a configuration, or any other file of Probity
    #[command(
        after_help = "Every problem is reported with file, line, key and reason. No model is called, and nothing is written.\n\nExamples:\n  cargo xtask validate benchmarks/honesty\n  cargo xtask validate config.yaml .probity --json\n  cargo \
            xtask validate --as scores mine.json\n\nExit codes:\n  0    no problems\n  1    there are problems\n  2    something could \
            not be checked: no such path, or not recognised"
    )]
    Validate(ValidateArgs),
    /// Create a benchmark: writes benchmark.yaml, and config.yaml where there is none
    Init {
        /// The benchmark's name, which names its folder
        name: String,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    Man {
        /// The folder, such as ~/.local/share/man/man1; made where it is missing
        folder: PathBuf,
    },
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
