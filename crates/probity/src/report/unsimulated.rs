//! Targets with scores and without conversations: the report shows their rates, and no rows.

use ::report::html::HtmlReport;
use interop::{Exporter, Run};
use jiff::Timestamp;
use schema::{ModelId, TargetRef};
use store::{BenchmarkDir, Layout, RunError, read_benchmark, scored_targets, simulated_targets};

use super::ReportRequest;

/// Adds these targets to the report. Returns the benchmarks that have conversations, or nothing at all: the caller exports or refuses
/// them.
pub(super) fn add(
    layout: &Layout,
    request: &ReportRequest,
    report: &mut HtmlReport,
) -> Result<Vec<String>, RunError> {
    let mut others = Vec::new();
    for name in &request.names {
        let dir = layout.benchmark(name)?;
        let simulated = simulated_targets(&dir)?;
        let wanted = |id: &ModelId| request.targets.is_empty() || request.targets.contains(id);
        let mut bare = scored_targets(&dir)?;
        bare.retain(|id| wanted(id) && !simulated.contains(id));
        for id in &bare {
            add_target(&dir, id, report)?;
        }
        let is_rest = request.targets.iter().any(|id| !bare.contains(id));
        if bare.is_empty() || (!simulated.is_empty() && (request.targets.is_empty() || is_rest)) {
            others.push(name.clone());
        }
    }
    Ok(others)
}

fn add_target(dir: &BenchmarkDir, id: &ModelId, report: &mut HtmlReport) -> Result<(), RunError> {
    report.add_problem(format!(
        "{}: {id}: no conversations.json: rates are shown, and no rows",
        dir.name()
    ));
    let target = TargetRef {
        id: id.clone(),
        model: String::new(),
    };
    let run = Run::new(
        read_benchmark(dir)?,
        dir.name(),
        target,
        Timestamp::UNIX_EPOCH,
    );
    let mut exporter = report;
    let added = exporter.begin(&run).and_then(|()| exporter.end());
    added.map_err(|error| RunError::output(error.to_string()).with_source(error))
}
