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

/// Writes the report of the result files of a safety evaluation beside them, as `path` with the ending `.html`.
pub fn of_safety(
    context: &Context,
    config: &Config,
    path: &Path,
    files: Vec<PathBuf>,
) -> Option<PathBuf> {
    if !config.settings.report || files.is_empty() {
        return None;
    }
    let request = ReportRequest {
        safety: files,
        rows: RowsKept::Notable,
        ..ReportRequest::default()
    };
    write(context, &request, path.with_extension("html"))
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
