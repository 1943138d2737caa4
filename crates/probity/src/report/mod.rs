//! The HTML report of finished runs.

mod calls;
mod formats;
mod labels;
mod summary;
mod unsimulated;

use std::{io, path::PathBuf, sync::Arc};

pub use formats::{FormattedReport, ReportFormat, write_formatted};

use ::report::html::{
    HtmlReport, Report, ReportError, ReportOptions, RowChoice, RowsKept, RunKind,
};
use interop::Exporter;
use schema::{
    Finding, ModelId, Notice, ProgramFlag, ProgramName, TargetRef, gate::GateReport, notice,
};
use store::{Layout, RunError, imported_targets};
use transfer::{ExportOptions, ExportReport, Journals, export_safety_with, export_with};

use crate::RowFilter;

/// The content of a report.
#[derive(Clone, Debug, Default)]
pub struct ReportRequest {
    /// The benchmarks.
    pub names: Vec<String>,
    /// Result files of safety evaluations.
    pub safety: Vec<PathBuf>,
    /// The target of safety files that do not name theirs; `None`: `not-stated`.
    pub unnamed: Option<TargetRef>,
    /// Only these targets; empty: all.
    pub targets: Vec<ModelId>,
    /// The target that others are compared with; `None`: each is compared with each.
    pub baseline: Option<ModelId>,
    /// The gate that it shows.
    pub gate: ReportGate,
    /// Which rows it holds.
    pub rows: RowsKept,
    /// Of these rows those that fit; the default: all. Rates stay those of all rows. The limit has no effect.
    pub filter: RowFilter,
    /// Notes at the top of the report, one line each.
    pub notes: Vec<Notice>,
    /// The program that the report's commands are for.
    pub program: ProgramName,
    /// Journals that were read for an earlier report: only data appended since then is read.
    pub journals: Journals,
    /// While a run goes on, the targets that it judges: their rows without a score are pending and not missing.
    pub judging: Option<Vec<ModelId>>,
}

/// The gate whose answers a report shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ReportGate {
    /// No gate.
    #[default]
    None,
    /// The rules of a `gate.yaml`, evaluated on everything in the report.
    Rules(PathBuf),
    /// Existing answers of a gate, by benchmark.
    Answers(Vec<GateReport>),
}

/// The destination of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportPlace {
    /// One file.
    File(PathBuf),
    /// A folder: the page and its data beside it.
    Folder(PathBuf),
}

/// A report that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenReport {
    /// The page.
    pub path: PathBuf,
    /// The number of rows in the report.
    pub rows: usize,
    /// The number of rows of the runs.
    pub total_rows: u64,
    /// What is incomplete in the runs, one line each, with the reasons why nothing can be shown of a target.
    pub problems: Vec<String>,
    /// What limits the conclusions from the results, the worst first.
    pub findings: Vec<Finding>,
    /// The number of targets of which nothing can be shown.
    pub refused: usize,
}

/// Writes the report of finished runs.
///
/// # Errors
/// When there is nothing to show, a file cannot be read or written, or the report is too large for one file.
pub fn write_report(
    layout: &Layout,
    request: &ReportRequest,
    place: &ReportPlace,
) -> Result<WrittenReport, RunError> {
    let (report, exported) = read_report(layout, request)?;
    let (rows, total_rows) = (report.index().rows.len(), report.index().total_rows);
    let problems = report.problems().to_vec();
    let path = match place {
        ReportPlace::File(path) => report.write_file(path),
        ReportPlace::Folder(folder) => report.write_folder(folder),
    };
    Ok(WrittenReport {
        path: path.map_err(unwritten)?,
        rows,
        total_rows,
        problems,
        refused: exported.refused.len(),
        findings: exported.findings,
    })
}

/// Reads the report of the runs as far as they got, with a list of what is missing.
///
/// # Errors
/// When there is nothing to show, or a file cannot be read.
pub fn read_report(
    layout: &Layout,
    request: &ReportRequest,
) -> Result<(Report, ExportReport), RunError> {
    let mut report = new_report(layout, request)?;
    let exporting = ExportOptions {
        strict: false,
        targets: request.targets.clone(),
        program: request.program.clone(),
        judging: request.judging.clone(),
    };
    let mut done = ExportReport::default();
    labels::add(layout, request, &mut report)?;
    for name in &request.names {
        // The record only decides which command is suggested, so an unreadable one is ignored.
        for target in imported_targets(layout, name).unwrap_or_default() {
            report.add_imported(name, &target.id);
        }
    }
    let names = unsimulated::add(layout, request, &mut report)?;
    if !names.is_empty() {
        let exporter = Box::new(&mut report);
        let exported = export_with(layout, &names, &exporting, &request.journals, exporter)?;
        add(&mut done, exported);
    }
    if !request.safety.is_empty() {
        report.of_kind(RunKind::Safety);
        let unnamed = request.unnamed.clone().map_or_else(not_stated, Ok)?;
        let exporter = Box::new(&mut report);
        let journals = &request.journals;
        let files = &request.safety;
        let exported = export_safety_with(layout, files, &unnamed, &exporting, journals, exporter)?;
        add(&mut done, exported);
    }
    let mut report = report.finish().map_err(unreadable)?;
    labels::order(&mut report);
    Ok((report, done))
}

/// The report of a benchmark that has no run yet: it says how to make one, with a command of `program`.
///
/// # Errors
/// When there is no room for temporary files.
pub fn empty_report(
    layout: &Layout,
    name: &str,
    program: &ProgramName,
) -> Result<Report, RunError> {
    let run = layout.command("run").on(name);
    let how = notice!["no results yet: ", run, " makes them"];
    let request = ReportRequest {
        names: vec![name.to_owned()],
        notes: vec![how],
        program: program.clone(),
        ..ReportRequest::default()
    };
    new_report(layout, &request)?.finish().map_err(unreadable)
}

fn new_report(layout: &Layout, request: &ReportRequest) -> Result<HtmlReport, RunError> {
    let options = ReportOptions {
        rows: request.rows,
        chosen: chosen(&request.filter),
        program: request.program.clone(),
        title: title(request),
        judging: request.judging.clone(),
    };
    let summary = summary::summary(layout, request)?;
    let mut report = HtmlReport::new(options, summary).map_err(unreadable)?;
    let notes = request.notes.iter();
    let texts: Vec<String> = notes.map(|note| note.text(&request.program)).collect();
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    (&mut report).note_problems(&lines);
    Ok(report)
}

/// The choice of a filter that leaves rows out.
fn chosen(filter: &RowFilter) -> Option<(RowChoice, String)> {
    if filter.conditions.is_empty() {
        return None;
    }
    let of = filter.clone();
    let choice: RowChoice = Arc::new(move |sample, score| of.holds(&sample.conversation, score));
    Some((choice, filter.to_string()))
}

/// The most benchmarks that a title names.
const MOST_NAMED: usize = 3;

/// The title: the names of the benchmarks and of the safety file, or their number if there are many.
fn title(request: &ReportRequest) -> String {
    let mut titles = match &*request.names {
        names if names.len() > MOST_NAMED => vec![format!("{} benchmarks", names.len())],
        names => names.to_vec(),
    };
    match &*request.safety {
        [] => {}
        [file] => {
            let stem = file.file_stem().unwrap_or(file.as_os_str());
            titles.push(stem.to_string_lossy().into_owned());
        }
        files => titles.push(format!("Safety evaluations ({} files)", files.len())),
    }
    titles.join(", ")
}

fn unreadable(error: io::Error) -> RunError {
    RunError::output(format!("temporary files: {error}")).with_source(error)
}

/// Adds the counts and problems of `other`.
fn add(all: &mut ExportReport, other: ExportReport) {
    all.targets += other.targets;
    all.conversations += other.conversations;
    all.problems.extend(other.problems);
    all.findings.extend(other.findings);
    all.refused.extend(other.refused);
    all.scores_cut |= other.scores_cut;
}

fn not_stated() -> Result<TargetRef, RunError> {
    let name = "not-stated";
    Ok(TargetRef {
        id: ModelId::new(name).map_err(|error| RunError::input(error.to_string()))?,
        model: name.to_owned(),
    })
}

fn unwritten(error: ReportError) -> RunError {
    let help = matches!(error, ReportError::TooLarge { .. }).then(|| {
        format!(
            "write a folder with `{}`, or fewer rows with `{}`",
            ProgramFlag::new("out").value("DIR"),
            ProgramFlag::new("rows").value("notable")
        )
    });
    let error = RunError::output(error.to_string()).with_source(error);
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}
