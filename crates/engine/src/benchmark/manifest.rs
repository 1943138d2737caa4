//! Fills the manifest of a benchmark run.

use jiff::Timestamp;
use serde_json::{Value, json};
use store::Manifest;

use super::{Pipeline, one_benchmark::BenchmarkEnd};
use crate::{report::RunReport, session::model_names};

/// The manifest of a run that starts.
pub(super) fn start(pipeline: &Pipeline, benchmarks: &[String]) -> Manifest {
    Manifest {
        format_version: Manifest::FORMAT_VERSION.to_owned(),
        run_id: pipeline.session.run_id().to_string(),
        probity_version: env!("CARGO_PKG_VERSION").to_owned(),
        git: pipeline.options.git.clone(),
        start: Timestamp::now().to_string(),
        benchmarks: benchmarks.to_vec(),
        phases: pipeline
            .options
            .phases
            .iter()
            .map(|phase| phase.as_str().to_owned())
            .collect(),
        targets: pipeline.targets().cloned().collect(),
        config: pipeline.options.config.clone(),
        ..Manifest::default()
    }
}

/// Takes in the result of a benchmark.
pub(super) fn add(manifest: &mut Manifest, name: &str, end: &BenchmarkEnd) {
    let report = &end.report;
    let counts: Vec<Value> = report
        .counts
        .iter()
        .map(|((phase, target), counts)| json!({"phase": phase, "target": target, "rows": counts}))
        .collect();
    let costs: Vec<Value> = report
        .costs
        .iter()
        .map(|((phase, target), cost)| json!({"phase": phase, "target": target, "cost": cost}))
        .collect();
    manifest.results.insert(
        name.to_owned(),
        json!({
            "fingerprints": end.fingerprints,
            "metrics": end.metrics,
            "counts": counts,
            "costs": costs,
            "failures": report.failures,
            "error": report.error.as_ref().map(ToString::to_string),
        }),
    );
    manifest.results.sort_keys();
}

/// Takes in how the run ended.
pub(super) fn finish(manifest: &mut Manifest, pipeline: &Pipeline, report: &RunReport) {
    manifest.end = Some(Timestamp::now().to_string());
    manifest.models = model_names(pipeline.session.meter());
    manifest.outcome = Some(report.outcome().as_str().to_owned());
}
