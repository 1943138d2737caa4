//! `report`: shows finished runs as a page, or in another format.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use probity::{
    Layout, ReportFormat, ReportGate, ReportPlace, ReportRequest, RowsKept, RunError, RunErrorKind,
    WrittenReport, write_formatted, write_report,
};
use schema::{nearest, notice, numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Context,
    output::{CommandOutput, path_text, path_texts},
    row_flags::RowConditions,
};
use crate::{
    benchmarks::{choose, target_ids},
    completion,
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// Write a page to look at: rates, rows and conversations of finished runs
///
/// It opens in any browser without a network. Everything comes from the files and journals of the runs. No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask report honesty\n  cargo xtask report honesty --rows notable --out honesty.html\n  cargo xtask \
        report --all --out report"
)]
pub struct ReportArgs {
    /// Benchmarks by name [default: the only one in the folder]
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    names: Vec<String>,
    /// All benchmarks in the folder
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Result files of safety evaluations
    #[arg(long, value_name = "FILE", num_args = 1..)]
    safety: Vec<PathBuf>,
    /// Only this target, by its id in the tree; can be repeated
    #[arg(long = "target", value_name = "ID", add = completion::simulated_targets())]
    targets: Vec<String>,
    /// The target that others are compared with
    #[arg(long, value_name = "ID", add = completion::simulated_targets())]
    baseline: Option<String>,
    /// Rules whose answers it shows, as of the command gate
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    /// The format
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
    /// html: which rows and conversations it holds
    #[arg(long, value_enum, default_value = "all")]
    rows: Rows,
    #[command(flatten)]
    conditions: RowConditions,
    /// The file to write; with html a folder, where the name does not end in .html, which holds reports of any size; with svg a folder
    /// [default: report.html, report.md, report.tex or report-figures]
    #[arg(long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page with the overview, rows and conversations
    Html,
    /// The tables of the overview, and its charts in a folder beside the file
    Markdown,
    /// The charts alone, a file for each
    Svg,
    /// The table of pass rates, for the package booktabs
    Latex,
    /// How the results were made, as text for a paper, with BibTeX
    Methods,
}

/// Which rows a report holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// Each of them; of more than 100,000, as notable
    All,
    /// All of up to 500 rows; of more those that failed, have no verdict, a fault or a label that differs from the judge
    Notable,
    /// None: the overview alone
    None,
}

impl From<Rows> for RowsKept {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::All => Self::All,
            Rows::Notable => Self::Notable,
            Rows::None => Self::None,
        }
    }
}

/// The output of `report`.
#[derive(Serialize, JsonSchema)]
pub struct ReportOutput<'a> {
    /// The written page; with `--format` the first of the files.
    file: Option<String>,
    /// The number of rows on the page. Absent with `--format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// The number of rows of the runs. Absent with `--format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_rows: Option<u64>,
    /// With `--format` all files that were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    /// The gaps in the runs.
    problems: &'a [String],
    /// The number of targets about which nothing can be shown.
    refused: u64,
}

impl CommandOutput for ReportOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["report"];
}

/// Writes the report.
///
/// # Errors
/// When there is nothing to show, or the file cannot be written.
pub fn run(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    check_files(&context.layout, &args.safety)?;
    let request = ReportRequest {
        names: names(context, args)?,
        safety: args.safety.clone(),
        unnamed: None,
        targets: target_ids(&args.targets)?,
        baseline: target_ids(args.baseline.as_slice())?.pop(),
        gate: args
            .gate
            .clone()
            .map_or(ReportGate::None, ReportGate::Rules),
        rows: args.rows.into(),
        filter: args.conditions.filter(),
        program: context.program.clone(),
        ..ReportRequest::default()
    };
    let (format, file) = match args.format {
        Format::Html => (None, "report.html"),
        Format::Markdown => (Some(ReportFormat::Markdown), "report.md"),
        Format::Svg => (Some(ReportFormat::Svg), "report-figures"),
        Format::Latex => (Some(ReportFormat::Latex), "report.tex"),
        Format::Methods => (Some(ReportFormat::Methods), "methods.md"),
    };
    let out = args.out.clone().unwrap_or_else(|| file.into());
    if let Some(format) = format {
        return write_other(context, args, &request, format, &out);
    }
    let written = write_report(&context.layout, &request, &place(&out)?).map_err(elsewhere)?;
    for line in &written.problems {
        context.terminal.warning(line);
    }
    context.warn_of(&written.findings);
    let exit = match written.refused {
        0 => Exit::Complete,
        _ => Exit::FailedRows,
    };
    if args.json {
        let output = ReportOutput {
            file: Some(path_text(&written.path)),
            rows: Some(written.rows as u64),
            total_rows: Some(written.total_rows),
            files: None,
            problems: &written.problems,
            refused: written.refused as u64,
        };
        context.print_json("report", exit, &output);
    } else {
        context.terminal.print(&text(&written));
    }
    Ok(exit)
}

/// Writes the report in a format other than HTML.
fn write_other(
    context: &Context,
    args: &ReportArgs,
    request: &ReportRequest,
    format: ReportFormat,
    out: &Path,
) -> Result<Exit, Failure> {
    if !request.filter.conditions.is_empty() {
        return Err(Failure::usage(
            "--metric, --scenario, --verdict and --filter choose the rows of a page (--format html): other formats have rates of all rows",
        ));
    }
    let is_folder = format == ReportFormat::Svg;
    if out.exists() && out.is_dir() != is_folder {
        let needed = if is_folder { "a folder" } else { "a file" };
        let reason = format!(
            "--out {}: not {needed}; name {needed} to write",
            out.display()
        );
        return Err(Failure::usage(reason));
    }
    let written = write_formatted(&context.layout, request, format, out).map_err(elsewhere)?;
    for line in &written.problems {
        context.terminal.warning(line);
    }
    let exit = match written.refused {
        0 => Exit::Complete,
        _ => Exit::FailedRows,
    };
    if args.json {
        let output = ReportOutput {
            file: written.files.first().map(|file| path_text(file)),
            rows: None,
            total_rows: None,
            files: Some(path_texts(&written.files)),
            problems: &written.problems,
            refused: written.refused as u64,
        };
        context.print_json("report", exit, &output);
    } else {
        let files = written.files.iter();
        let lines: String = files
            .map(|file| format!("wrote {}\n", file.display()))
            .collect();
        context.terminal.print(&lines);
    }
    Ok(exit)
}

/// The selected benchmarks: none if only safety files are named.
fn names(context: &Context, args: &ReportArgs) -> Result<Vec<String>, Failure> {
    if !args.safety.is_empty() && args.names.is_empty() && !args.all {
        return Ok(Vec::new());
    }
    let selection = BenchmarkSelection {
        names: args.names.clone(),
        all: args.all,
        ..BenchmarkSelection::default()
    };
    Ok(choose(&context.layout, &selection, false)?.names)
}

/// Adds advice to an error of writing.
fn elsewhere(error: RunError) -> RunError {
    match error.kind() == RunErrorKind::Output && error.help().is_none() {
        true => error.with_help("make room or name another place with `--out`"),
        false => error,
    }
}

/// Checks the result files of safety evaluations: refuses folders, and missing files with a name like an existing one.
fn check_files(layout: &Layout, files: &[PathBuf]) -> Result<(), Failure> {
    for path in files {
        let shown = path.display();
        if path.is_dir() {
            return Err(Failure::usage(notice![
                format!(
                    "{shown}: a folder, not the result file of a safety evaluation\nhelp: name its files; "
                ),
                layout.command("report").on("NAME"),
                " shows a benchmark"
            ]));
        }
        if path.exists() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
        let there: Vec<String> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".json"))
            .collect();
        if let Some(near) = nearest(&name, there.iter().map(String::as_str)) {
            return Err(Failure::usage(format!(
                "{shown}: no such file; did you mean `{}`?",
                path.with_file_name(near).display()
            )));
        }
    }
    Ok(())
}

/// A file if the name ends like that of a page, otherwise a folder.
fn place(out: &Path) -> Result<ReportPlace, Failure> {
    let extension = out.extension().unwrap_or_default().to_ascii_lowercase();
    let is_page = (extension == "html" || extension == "htm") && !out.is_dir();
    if is_page {
        return Ok(ReportPlace::File(out.to_owned()));
    }
    if out.exists() && !out.is_dir() {
        return Err(Failure::usage(format!(
            "--out {}: neither a folder nor a name that ends in .html",
            out.display()
        )));
    }
    Ok(ReportPlace::Folder(out.to_owned()))
}

fn text(written: &WrittenReport) -> String {
    let path = written.path.display();
    let total = counted(written.total_rows, "row", "rows");
    match written.rows as u64 == written.total_rows {
        true => format!("wrote {path}: {total}\n"),
        false => format!(
            "wrote {path}: {} of {total}\n",
            grouped(written.rows as u64)
        ),
    }
}
