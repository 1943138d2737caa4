//! `import`: creates a benchmark from conversations of other programs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use probity::{ImportFormat, ImportOptions, ImportReport, ImportVerdicts, ImportedTarget, LeftOut};
use schema::{Metric, MetricType, nearest, numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    import_data::{self, DataArgs},
    output::{CommandOutput, path_text, path_texts},
};
use crate::exit::{Exit, Failure};

/// Import conversations of other programs, to judge them with evaluate, or prompts, to run them: Inspect logs, Every Eval Ever, data sets
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Creates a benchmark from existing conversations, or from rows with prompts (data). No model is called.\n\nExamples:\n  cargo xtask import inspect logs/x.eval --as theirs --metrics metrics.yaml\n  \
    cargo xtask import eee submission/data --as rescored\n  cargo xtask import ../impactbench/benchmarks/honesty\n  \
    cargo xtask evaluate theirs\n  \
    cargo xtask import data capitals.csv --check 'contains={{ answer }}'\n  \
    cargo xtask import data promptfooconfig.yaml --as theirs"
)]
pub struct ImportArgs {
    /// Files and folders to import; before them the format (tree, inspect, eee, promptfoo, petri or bloom, jsonl), where it cannot be recognised, or data
    /// for rows with prompts
    #[arg(value_names = ["[FORMAT] PATH"], required = true)]
    pub(super) what: Vec<PathBuf>,
    /// The name of the benchmark [default: that of the evaluation]
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The metrics to judge: a benchmark.yaml, or a list of metrics [default: those of the files]
    #[arg(long, value_name = "FILE", conflicts_with = "definition")]
    pub(super) metrics: Option<PathBuf>,
    /// The definition of one metric, instead of a file: the behaviour that the judge looks for
    #[arg(long, value_name = "TEXT", requires = "metric_type")]
    pub(super) definition: Option<String>,
    /// The metric's name [default: imported]
    #[arg(long, value_name = "NAME")]
    pub(super) metric_name: Option<String>,
    /// Whether the behaviour is desired [default, of a metric that only --verdicts names: positive]
    #[arg(long, value_enum, value_name = "TYPE", conflicts_with = "metrics")]
    pub(super) metric_type: Option<Polarity>,
    /// Take the scores of a scorer in the files as verdicts on a metric, such as match=m01 or flattery=m02:>=3; can be repeated. The
    /// condition says when the behaviour is present. `metrics`: of all scorers that are called as the metrics are; `all`: of all that say yes or no
    #[arg(long, value_name = "SCORER=METRIC[:CONDITION]")]
    pub(super) verdicts: Vec<String>,
    /// The key in the samples' data whose value dependent samples share, such as group
    #[arg(long, value_name = "KEY")]
    pub(super) cluster: Option<String>,
    #[command(flatten)]
    pub(super) data: DataArgs,
    /// Replace the benchmark of this name
    #[arg(long)]
    pub(super) force: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    pub(super) json: bool,
}

/// The types of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Polarity {
    /// The behaviour is desired
    Positive,
    /// The behaviour is undesired
    Negative,
}

impl From<Polarity> for MetricType {
    fn from(polarity: Polarity) -> Self {
        match polarity {
            Polarity::Positive => Self::Positive,
            Polarity::Negative => Self::Negative,
        }
    }
}

/// The output of `import`.
#[derive(Serialize, JsonSchema)]
pub struct ImportOutput<'a> {
    /// The imported format: `tree`, `eee`, `inspect`, `promptfoo`, `petri`, `jsonl`, or `data` for rows with prompts.
    pub(super) from: &'static str,
    /// The created benchmark.
    pub(super) benchmark: &'a str,
    /// Its folder.
    pub(super) folder: String,
    /// The imported files.
    pub(super) files: Vec<String>,
    /// The ids of its metrics.
    pub(super) metrics: Vec<&'a str>,
    /// The number of scenarios.
    pub(super) scenarios: u64,
    /// The number of conversations of all systems.
    pub(super) conversations: u64,
    /// The result of each system under test.
    pub(super) targets: &'a [ImportedTarget],
    /// Files and rows that were left out, by reason.
    pub(super) left_out: &'a [LeftOut],
    /// Conversations that were imported with an error, by the error.
    pub(super) failures: &'a [LeftOut],
    /// Notes for the reader.
    pub(super) notes: &'a [String],
}

impl CommandOutput for ImportOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["import"];
}

/// Imports the files at the paths.
///
/// # Errors
/// When something cannot be read or used, or the benchmark cannot be written. In that case nothing is written.
pub fn run(context: &Context, args: &ImportArgs) -> Result<Exit, Failure> {
    if let Some(paths) = import_data::paths(&args.what) {
        return import_data::run(context, args, paths);
    }
    args.data.refuse()?;
    if args.metric_name.is_some() && args.definition.is_none() {
        let text = "--metric-name: it names the metric of `--definition`, which is missing";
        return Err(Failure::usage(text));
    }
    let report = probity::import(&context.layout, &options(args)?)?;
    let exit = if report.left_out.is_empty() && report.failures.is_empty() {
        Exit::Complete
    } else {
        Exit::FailedRows
    };
    let notes = warn_of(context, &report);
    if args.json {
        context.print_json("import", exit, &ImportOutput::new(&report, &notes));
    } else {
        context.terminal.print(&text(context, &report));
    }
    Ok(exit)
}

/// Says what was left out of an import, which conversations have an error, and its notes, which it returns.
pub fn warn_of(context: &Context, report: &ImportReport) -> Vec<String> {
    for left in &report.left_out {
        let line = format!("left out {}: {}", left.count, listed(left));
        context.terminal.warning(&line);
    }
    for failed in &report.failures {
        let conversations = counted(failed.count, "conversation has", "conversations have");
        let line = format!(
            "{conversations} an error, and no judge reads {}: {}",
            if failed.count == 1 { "it" } else { "them" },
            listed(failed)
        );
        context.terminal.warning(&line);
    }
    let texts = report.notes.iter();
    let notes: Vec<String> = texts.map(|note| note.text(&context.program)).collect();
    for note in &notes {
        context.terminal.note(&shown(note));
    }
    notes
}

/// The reason that some things share, and a few of them.
pub(super) fn listed(things: &LeftOut) -> String {
    let more = match things.count > things.examples.len() as u64 {
        true => "; and more",
        false => "",
    };
    format!(
        "{} ({}{more})",
        shown(&things.reason),
        shown(&things.examples.join("; "))
    )
}

/// The error for a word before the paths that is no format.
fn unknown_format(word: &str) -> Failure {
    let formats = ImportFormat::ALL.map(ImportFormat::as_str);
    let names = [formats.as_slice(), &["bloom"]].concat();
    let meant =
        nearest(word, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    Failure::usage(format!(
        "import {word}: unknown format, and no file or folder of this name{}\nhelp: the formats are {}. Without one it is recognised from the files",
        meant.unwrap_or_default(),
        names.join(", ")
    ))
}

/// Whether an argument is a word and no path.
fn is_word(argument: &Path) -> bool {
    let text = argument.to_str().unwrap_or_default();
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(letters) && argument.symlink_metadata().is_err()
}

fn options(args: &ImportArgs) -> Result<ImportOptions, Failure> {
    let (format, paths) = match args.what.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => {
            match first.to_str().and_then(ImportFormat::parse) {
                Some(format) => (Some(format), rest),
                None if is_word(first) => {
                    return Err(unknown_format(&first.to_string_lossy()));
                }
                None => (None, args.what.as_slice()),
            }
        }
        [only] if only.to_str().and_then(ImportFormat::parse).is_some() && !only.exists() => {
            return Err(Failure::usage(format!(
                "import {}: no file or folder; name it after the format",
                only.display()
            )));
        }
        all => (None, all),
    };
    Ok(ImportOptions {
        format,
        paths: paths.to_vec(),
        name: args.name.clone(),
        metrics: metrics(args)?,
        verdicts: ImportVerdicts::parse(&args.verdicts).map_err(verdicts_error)?,
        metric_type: args.metric_type.map(Into::into),
        cluster: args.cluster.clone(),
        force: args.force,
        ..ImportOptions::default()
    })
}

/// The error for words that ask for verdicts.
pub fn verdicts_error(error: String) -> Failure {
    Failure::usage(format!("--verdicts: {error}"))
}

pub(super) fn metrics(args: &ImportArgs) -> Result<Vec<Metric>, Failure> {
    if let Some(file) = &args.metrics {
        return Ok(probity::read_metrics(file)?);
    }
    let (Some(definition), Some(polarity)) = (&args.definition, args.metric_type) else {
        return Ok(Vec::new());
    };
    let name = args.metric_name.as_deref().unwrap_or("imported");
    Ok(vec![Metric::new("m01", name, polarity.into(), definition)])
}

fn text(context: &Context, report: &ImportReport) -> String {
    let mut text = format!(
        "imported {} of {} for {} into {}\n",
        counted(report.conversations(), "conversation", "conversations"),
        counted(report.targets.len() as u64, "target", "targets"),
        counted(report.metrics.len() as u64, "metric", "metrics"),
        report.folder.display()
    );
    let shown_targets = match report.targets.len() > MOST {
        true => MOST - 1,
        false => report.targets.len(),
    };
    for target in report.targets.iter().take(shown_targets) {
        let failed = match target.failed {
            0 => String::new(),
            n => format!(", {} of them failed", grouped(n)),
        };
        let model = match target.target.model.as_str() {
            "" => String::new(),
            model => format!(" ({})", shown(model)),
        };
        let verdicts = match target.verdicts {
            0 => String::new(),
            n => format!(", {}", counted(n, "verdict", "verdicts")),
        };
        text.push_str(&format!(
            "  {}{model}: {}{failed}{verdicts}\n",
            target.target.id,
            counted(target.conversations, "conversation", "conversations"),
        ));
    }
    if shown_targets < report.targets.len() {
        let more = report.targets.len() - shown_targets;
        let more = counted(more as u64, "target", "targets");
        text.push_str(&format!("  … and {more} more: `--json` lists them\n"));
    }
    text.push_str(&format!(
        "\nNext: {} {} {}\n",
        context.program.start(),
        next(report),
        report.name
    ));
    text
}

/// The most targets that are listed.
const MOST: usize = 20;

/// The next command, which continues from the imported files.
fn next(report: &ImportReport) -> &'static str {
    if report.targets.is_empty() {
        "run"
    } else if report.judged {
        "aggregate"
    } else {
        "evaluate"
    }
}

/// A text from a file, made safe for a terminal.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

impl<'a> ImportOutput<'a> {
    fn new(report: &'a ImportReport, notes: &'a [String]) -> Self {
        let metrics = report.metrics.iter();
        Self {
            from: report.format.as_str(),
            benchmark: &report.name,
            folder: path_text(&report.folder),
            files: path_texts(&report.files),
            metrics: metrics.map(|metric| metric.id.as_str()).collect(),
            scenarios: report.scenarios,
            conversations: report.conversations(),
            targets: &report.targets,
            left_out: &report.left_out,
            failures: &report.failures,
            notes,
        }
    }
}
