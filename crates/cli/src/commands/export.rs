//! `export`: exports finished runs to the formats of other programs.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use interop::{
    Exporter,
    bloom::Bloom,
    csv::Csv,
    eee::{Eee, EeeOptions, Version},
    inspect::{InspectLogs, LogFormat},
    jsonl::Jsonl,
    junit::JUnit,
    otel::Otel,
    parquet::Parquet,
    petri::Petri,
    summary::JobSummary,
};
use probity::{ExportOptions, ExportReport, FilteredExporter, RowFilter};
use schema::{Finding, ModelId, Notice, TargetRef, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context, findings,
    output::{CommandOutput, path_texts},
    row_flags::RowFlags,
};
use crate::{
    benchmarks::choose,
    completion,
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// Export finished runs to other formats: Every Eval Ever, Inspect, JUnit, CSV, JSONL, Parquet, OpenTelemetry, Petri, Bloom, a job summary, the plain
/// files of ImpactBench
///
/// Everything comes from the files of the benchmark and its journals. No model is called. Of JSONL, some of the rows can be exported, by the
/// conditions of `list`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask export eee honesty --out submission\n  cargo xtask export csv --all --strict\n  cargo \
        xtask export summary honesty\n  cargo xtask export jsonl honesty --verdict fail --filter tags=hard\n  cargo xtask export tree honesty --plain out"
)]
pub struct ExportArgs {
    /// The format
    #[arg(value_enum)]
    format: Format,
    /// Benchmarks by name [default: the only one in the folder]
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    names: Vec<String>,
    /// Result files of safety evaluations, instead of benchmarks
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["names", "all"])]
    safety: Vec<PathBuf>,
    /// safety: the target model, where a file does not name it
    #[arg(
        long,
        value_name = "NAME",
        requires = "safety",
        default_value = "not-stated"
    )]
    model: String,
    /// All benchmarks in the folder
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Only this target, by its id in the tree; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// The folder to write into [default: a folder of the format in export]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// tree: the folder to write the benchmark's folder into, with rows that are in segments as plain files
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "safety", "targets", "strict"])]
    plain: Option<PathBuf>,
    /// Write nothing unless the results are complete: no row missing, failed or without a verdict
    #[arg(long)]
    strict: bool,
    /// eee: version of the instance rows: 0.3.0 or 0.2.0
    #[arg(long, value_name = "VERSION", default_value = "0.3.0", value_parser = version)]
    schema_version: Version,
    /// inspect: the form of the logs
    #[arg(long, value_enum, default_value = "eval")]
    log_format: InspectForm,
    /// eee: who ran the evaluation
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    #[command(flatten)]
    rows: RowFlags,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Every Eval Ever: an aggregate JSON and a JSONL of instances for each target
    Eee,
    /// Inspect logs (.eval), one for each target
    Inspect,
    /// JUnit XML: a suite for each metric, a failed case for each conversation that did not pass
    Junit,
    /// CSV: scores, conversations, summary
    Csv,
    /// JSONL: one object for each conversation, with scores, calls and settings
    Jsonl,
    /// Parquet: conversations, turns, scores, statistics, with a card of the data set
    Parquet,
    /// Markdown for a job summary of GitHub Actions
    Summary,
    /// OpenTelemetry: calls as spans and verdicts as events, in files of OTLP
    Otel,
    /// Transcripts of Petri and Bloom, one JSON file for each conversation, with the scores by metric
    Petri,
    /// Behaviours of Bloom: BEHAVIOR.md, seeds and a dimension for each metric
    Bloom,
    /// The benchmark's folder with all rows in plain files, as ImpactBench reads it: needs --plain
    Tree,
}

/// The forms of an Inspect log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InspectForm {
    /// A zip of small files, which the viewer opens part by part
    Eval,
    /// One JSON file
    Json,
}

impl From<InspectForm> for LogFormat {
    fn from(form: InspectForm) -> Self {
        match form {
            InspectForm::Eval => Self::Eval,
            InspectForm::Json => Self::Json,
        }
    }
}

impl Format {
    fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse(text).ok_or_else(|| "supported versions: 0.3.0 and 0.2.0".to_owned())
}

/// The output of `export`.
#[derive(Serialize, JsonSchema)]
pub struct ExportOutput<'a> {
    /// The written format: `eee`, `inspect` and so on.
    export_format: String,
    /// Systems under test whose results were exported.
    targets: u64,
    /// Conversations that were exported.
    conversations: u64,
    /// The files that were written.
    files: Vec<String>,
    /// The errors of rows that were left out.
    problems: &'a [String],
    /// Why results were not exported at all.
    refused: &'a [String],
    /// The texts of the warnings among `findings`.
    warnings: Vec<&'a str>,
    /// What limits the conclusions from the exported results, the worst first. Absent in output from before it was collected.
    #[serde(default)]
    findings: &'a [Finding],
    /// Notes for the reader.
    notes: &'a [String],
}

impl CommandOutput for ExportOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["export"];
}

/// Exports the results in the tree.
///
/// # Errors
/// When there is nothing to export, the results are incomplete and `--strict` is given, or a file cannot
/// be written.
pub fn run(context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    let options = ExportOptions {
        strict: args.strict,
        targets: args
            .targets
            .iter()
            .map(|id| ModelId::new(id).map_err(|error| Failure::usage(error.to_string())))
            .collect::<Result<_, _>>()?,
        program: context.program.clone(),
        judging: None,
    };
    let out = match (args.format, &args.plain, &args.out) {
        (Format::Tree, Some(plain), _) => plain.clone(),
        (Format::Tree, None, _) => {
            return Err(Failure::usage(
                "a tree is written with its rows in plain files: name the folder with --plain DIR",
            ));
        }
        (_, Some(_), _) => return Err(Failure::usage("--plain is for `export tree`")),
        (_, None, Some(out)) => out.clone(),
        (_, None, None) => PathBuf::from("export").join(args.format.name()),
    };
    if std::fs::metadata(&out).is_ok_and(|there| !there.is_dir()) {
        return Err(Failure::usage(format!(
            "{}: not a folder; name the folder to write into",
            out.display()
        )));
    }
    let report = match chosen_rows(args, &out)? {
        Some(exporter) => export(context, args, &options, exporter)?,
        None => probity::export_tree(&context.layout, &chosen_names(context, args)?, &out)?,
    };
    let whole = report.refused.is_empty() && !report.scores_cut;
    let exit = if whole {
        Exit::Complete
    } else {
        Exit::FailedRows
    };
    let shown = |lines: &[Notice]| -> Vec<String> {
        lines
            .iter()
            .map(|line| line.text(&context.program))
            .collect()
    };
    let lines = [shown(&report.problems), shown(&report.refused)];
    for line in lines.iter().flatten().chain(&report.exported.notes) {
        context.terminal.warning(line);
    }
    context.warn_of(&report.findings);
    if args.json {
        context.print_json("export", exit, &ExportOutput::new(args, &report, &lines));
    } else {
        context.terminal.print(&text(&report));
    }
    if args.format == Format::Summary {
        append_to_job(context, &report)?;
    }
    Ok(exit)
}

fn export(
    context: &Context,
    args: &ExportArgs,
    options: &ExportOptions,
    exporter: Box<dyn Exporter>,
) -> Result<ExportReport, Failure> {
    if args.safety.is_empty() {
        let names = chosen_names(context, args)?;
        return Ok(probity::export(&context.layout, &names, options, exporter)?);
    }
    let id = ModelId::new(&args.model).map_err(|error| Failure::usage(error.to_string()))?;
    let unnamed = TargetRef {
        id,
        model: args.model.clone(),
    };
    Ok(probity::export_safety(
        &context.layout,
        &args.safety,
        &unnamed,
        options,
        exporter,
    )?)
}

fn chosen_names(context: &Context, args: &ExportArgs) -> Result<Vec<String>, Failure> {
    let selection = BenchmarkSelection {
        names: args.names.clone(),
        all: args.all,
        ..BenchmarkSelection::default()
    };
    Ok(choose(&context.layout, &selection, false)?.names)
}

/// The exporter of the format, for the rows that the flags choose. A tree is copied and has none.
fn chosen_rows(args: &ExportArgs, out: &Path) -> Result<Option<Box<dyn Exporter>>, Failure> {
    let filter = args.rows.filter();
    if filter == RowFilter::default() {
        return Ok(exporter(args, out));
    }
    if args.format != Format::Jsonl || !args.safety.is_empty() {
        return Err(Failure::usage(format!(
            "--metric, --scenario, --verdict, --filter and --limit are for `export jsonl` of benchmarks: {} has rates of all rows",
            args.format.name()
        )));
    }
    let rows = Jsonl::new(out).some_rows(filter.to_string());
    Ok(Some(Box::new(FilteredExporter::new(
        Box::new(rows),
        filter,
    ))))
}

fn exporter(args: &ExportArgs, out: &Path) -> Option<Box<dyn Exporter>> {
    Some(match args.format {
        Format::Eee => {
            let mut options = EeeOptions {
                version: args.schema_version,
                ..EeeOptions::default()
            };
            if let Some(name) = &args.organization {
                options.organization.clone_from(name);
            }
            Box::new(Eee::new(out, options))
        }
        Format::Inspect => Box::new(InspectLogs::new(out, args.log_format.into())),
        Format::Junit => Box::new(JUnit::new(out)),
        Format::Csv => Box::new(Csv::new(out)),
        Format::Jsonl => Box::new(Jsonl::new(out)),
        Format::Parquet => Box::new(Parquet::new(out)),
        Format::Summary => Box::new(JobSummary::new(out)),
        Format::Otel => Box::new(Otel::new(out)),
        Format::Petri => Box::new(Petri::new(out)),
        Format::Bloom => Box::new(Bloom::new(out)),
        Format::Tree => return None,
    })
}

/// Appends the summary to the job's page when the command runs in GitHub Actions.
fn append_to_job(context: &Context, report: &ExportReport) -> Result<(), Failure> {
    let Some(page) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|page| !page.is_empty()) else {
        return Ok(());
    };
    let page = PathBuf::from(page);
    let add = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&page)?;
        for path in &report.exported.files {
            file.write_all(&files::read(path)?)?;
        }
        Ok(())
    };
    add().map_err(|error| {
        Failure::nothing_ran(format!("{}: cannot be written: {error}", page.display()))
    })?;
    context
        .terminal
        .note("added the summary to the page of the job ($GITHUB_STEP_SUMMARY)");
    Ok(())
}

fn text(report: &ExportReport) -> String {
    let mut text = format!(
        "exported {} of {}\n",
        counted(report.conversations, "conversation", "conversations"),
        counted(report.targets, "target", "targets")
    );
    let files = &report.exported.files;
    let shown = match files.len() > MOST {
        true => MOST - 1,
        false => files.len(),
    };
    for path in files.iter().take(shown) {
        text.push_str(&format!("wrote {}\n", path.display()));
    }
    if shown < files.len() {
        let more = counted((files.len() - shown) as u64, "file", "files");
        text.push_str(&format!("… and {more} more: `--json` lists them\n"));
    }
    text
}

/// The most files that are listed.
const MOST: usize = 20;

impl<'a> ExportOutput<'a> {
    fn new(
        args: &ExportArgs,
        report: &'a ExportReport,
        [problems, refused]: &'a [Vec<String>; 2],
    ) -> Self {
        Self {
            export_format: args.format.name(),
            targets: report.targets,
            conversations: report.conversations,
            files: path_texts(&report.exported.files),
            problems,
            refused,
            warnings: findings::warnings(&report.findings),
            findings: &report.findings,
            notes: &report.exported.notes,
        }
    }
}
