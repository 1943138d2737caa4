//! The report that a run ends with: a page beside the results, with the rows that a person wants to see first.

use std::path::{Path, PathBuf};

use probity::{ReportPlace, ReportRequest, RowsKept, RunReport, write_report};
use store::simulated_targets;

use super::Context;
use crate::config::Config;

/// Writes `report.html` of each benchmark whose results the run has summed up, and adds it to its files. One that cannot be written is a
/// warning: the results are there.
pub fn of_run(context: &Context, config: &Config, run: &mut RunReport) {
    if !config.settings.report {
        return;
    }
    for benchmark in &mut run.benchmarks {
        if benchmark.summaries.is_empty() {
            continue;
        }
        let Ok(dir) = context.layout.benchmark(&benchmark.name) else {
            continue;
        };
        // Scores alone have no rows to show.
        if simulated_targets(&dir).is_ok_and(|targets| targets.is_empty()) {
            continue;
        }
        let request = ReportRequest {
            names: vec![benchmark.name.clone()],
            rows: RowsKept::Notable,
            ..ReportRequest::default()
        };
        benchmark
            .files
            .extend(write(context, &request, dir.report()));
    }
}

/// Writes the report of the result files of a safety evaluation beside them, as `path` with the ending `.html`. One that is there stays
/// unless the run may `overwrite` its files.
pub fn of_safety(
    context: &Context,
    config: &Config,
    path: &Path,
    overwrite: bool,
    files: Vec<PathBuf>,
) -> Option<PathBuf> {
    if !config.settings.report || files.is_empty() {
        return None;
    }
    let mut page = path.with_extension("html");
    if page == path {
        let mut name = page.into_os_string();
        name.push(".html");
        page = name.into();
    }
    if !overwrite && page.symlink_metadata().is_ok() {
        context.terminal.warning(&format!(
            "no report was written: {}: the file exists; `{} report --safety FILE --out NAME.html` writes one under another name",
            page.display(),
            context.layout.command()
        ));
        return None;
    }
    let request = ReportRequest {
        safety: files,
        rows: RowsKept::Notable,
        ..ReportRequest::default()
    };
    write(context, &request, page)
}

fn write(context: &Context, request: &ReportRequest, path: PathBuf) -> Option<PathBuf> {
    match write_report(&context.layout, request, &ReportPlace::File(path)) {
        Ok(written) => Some(written.path),
        Err(error) => {
            context
                .terminal
                .warning(&format!("no report was written: {error}"));
            None
        }
    }
}
