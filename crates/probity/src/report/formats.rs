//! The report in formats other than HTML.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use interop::{ExportError, Exported, Exporter, OutFile, Run, Sample};
use report::{
    ReportFigure, html::ReportSummary, report_figures, report_latex, report_markdown,
    report_methods,
};
use store::{Layout, RunError};
use transfer::{ExportOptions, export, export_safety};

use super::{ReportRequest, not_stated, summary::summary};

/// A format other than HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// Tables and, in a folder beside them, charts.
    Markdown,
    /// A chart for each table that has one, in a folder.
    Svg,
    /// The main table of each benchmark.
    Latex,
    /// How the results were made, with BibTeX of the works that it cites.
    Methods,
}

/// A report that was written in a format other than HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormattedReport {
    /// The files, the first of them the one to open.
    pub files: Vec<PathBuf>,
    /// What is incomplete, one line each.
    pub problems: Vec<String>,
    /// The number of targets of which nothing can be shown.
    pub refused: usize,
}

/// Writes the report of finished runs as the file `out`; with [`ReportFormat::Svg`] into the folder `out`.
///
/// # Errors
/// When there is nothing to show, or a file cannot be read or written.
pub fn write_formatted(
    layout: &Layout,
    request: &ReportRequest,
    format: ReportFormat,
    out: &Path,
) -> Result<FormattedReport, RunError> {
    let mut facts = SummaryOnly(summary(layout, request)?);
    let options = ExportOptions {
        strict: false,
        targets: request.targets.clone(),
        program: request.program.clone(),
        judging: None,
    };
    let mut done = FormattedReport::default();
    if !request.names.is_empty() {
        let exported = export(layout, &request.names, &options, Box::new(&mut facts))?;
        done.refused += exported.refused.len();
    }
    if !request.safety.is_empty() {
        let unnamed = request.unnamed.clone().map_or_else(not_stated, Ok)?;
        let exporter = Box::new(&mut facts);
        let exported = export_safety(layout, &request.safety, &unnamed, &options, exporter)?;
        done.refused += exported.refused.len();
    }
    let SummaryOnly(summary) = facts;
    let written = match format {
        ReportFormat::Markdown => markdown(&summary, out),
        ReportFormat::Svg => figures(&report_figures(&summary), out),
        ReportFormat::Latex => {
            write(out.to_owned(), &report_latex(&summary)).map(|file| vec![file])
        }
        ReportFormat::Methods => {
            write(out.to_owned(), &report_methods(&summary)).map(|file| vec![file])
        }
    };
    done.files = written.map_err(|error| RunError::output(error.to_string()).with_source(error))?;
    done.problems = summary.problems;
    Ok(done)
}

/// Writes the text, and its charts in a folder that is named after it.
fn markdown(summary: &ReportSummary, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    let folder = format!("{stem}-figures");
    let mut files = vec![write(
        out.to_owned(),
        &report_markdown(summary, Some(&folder)),
    )?];
    files.extend(figures(
        &report_figures(summary),
        &out.with_file_name(folder),
    )?);
    Ok(files)
}

fn figures(figures: &[ReportFigure], folder: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let files = figures.iter();
    files
        .map(|figure| write(folder.join(&figure.file), &figure.svg))
        .collect()
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, ExportError> {
    let mut file = OutFile::create(path)?;
    let written = file.write_all(text.as_bytes());
    file.with_path(written)?;
    file.keep()
}

/// Adds runs and problems to a summary, without rows.
struct SummaryOnly(ReportSummary);

impl Exporter for &mut SummaryOnly {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.0.add_run(run);
        Ok(())
    }

    fn push(&mut self, _: &Sample) -> Result<(), ExportError> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    fn note_problems(&mut self, problems: &[&str]) {
        self.0.add_problems(problems);
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(Exported::default())
    }
}
