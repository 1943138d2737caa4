//! The report that a run ends with: a page beside the results, with the rows that a person wants to see first.

use std::path::{Path, PathBuf};

use probity::{
    Journals, ReportGate, ReportPlace, ReportRequest, RowsKept, RunReport, write_report,
};
use schema::gate::GateReport;
use store::simulated_targets;

use super::Context;
use crate::config::Config;

/// Writes `report.html` of each benchmark with results of the run, with the answers of the run's gates, and adds it to the benchmark's
/// files. A report that cannot be written is a warning, because the results exist. `journals` are those that the run has read.
pub fn of_run(
    context: &Context,
    config: &Config,
    gates: Option<&Vec<GateReport>>,
    run: &mut RunReport,
    journals: &Journals,
) {
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
        let gate = gates.map_or(ReportGate::None, |all| ReportGate::Answers(all.clone()));
        let request = ReportRequest {
            journals: journals.clone(),
            program: context.program.clone(),
            ..of_benchmark(&benchmark.name, gate)
        };
        benchmark
            .files
            .extend(write(context, &request, dir.report()));
    }
}

/// Writes the `report.html` of the benchmark `name` again after labels were given, if a run has written one and `report` is not
/// false. The report shows no gate, because the rules of the run are not known. A report that cannot be written is a warning.
pub fn of_labels(context: &Context, name: &str) {
    let Ok(dir) = context.layout.benchmark(name) else {
        return;
    };
    // A configuration that cannot be used does not prevent labelling.
    let is_wanted = || {
        context
            .load(&[])
            .map_or(true, |config| config.settings.report)
    };
    let is_there = dir.report().is_file();
    if !is_there || !is_wanted() {
        return;
    }
    let request = of_benchmark(name, ReportGate::None);
    if let Some(path) = write(context, &request, dir.report()) {
        let text = format!("wrote {} again, with the labels", path.display());
        context.terminal.note(&text);
    }
}

/// The request for the report that a run writes of a benchmark.
fn of_benchmark(name: &str, gate: ReportGate) -> ReportRequest {
    ReportRequest {
        names: vec![name.to_owned()],
        rows: RowsKept::Notable,
        gate,
        ..ReportRequest::default()
    }
}

/// Writes the report of a safety evaluation beside its result files, as `path` with the ending `.html`. An existing file is kept
/// unless the run may `overwrite` its files. `rules`: the answers of the run's rules. `journals`: those that the run has read.
pub fn of_safety(
    context: &Context,
    config: &Config,
    path: &Path,
    overwrite: bool,
    files: Vec<PathBuf>,
    rules: Option<&GateReport>,
    journals: &Journals,
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
            context.program.start()
        ));
        return None;
    }
    let request = ReportRequest {
        safety: files,
        rows: RowsKept::Notable,
        gate: rules.map_or(ReportGate::None, |rules| {
            ReportGate::Answers(vec![rules.clone()])
        }),
        journals: journals.clone(),
        program: context.program.clone(),
        ..ReportRequest::default()
    };
    write(context, &request, page)
}

fn write(context: &Context, request: &ReportRequest, path: PathBuf) -> Option<PathBuf> {
    match write_report(&context.layout, request, &ReportPlace::File(path)) {
        Ok(written) => Some(written.path),
        Err(error) => {
            context.terminal.warning(&format!(
                "no report was written: {}",
                error.notice().text(&context.program)
            ));
            None
        }
    }
}
