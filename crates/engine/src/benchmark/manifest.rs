//! Fills the manifest of a benchmark run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use store::Manifest;

use super::{Pipeline, one_benchmark::BenchmarkEnd};
use crate::report::RunReport;

/// The manifest of a run that starts.
pub(super) fn start(pipeline: &Pipeline, benchmarks: &[String]) -> Manifest {
    Manifest {
        format_version: "1.0.0",
        run_id: pipeline.session.run_id().to_string(),
        probity_version: env!("CARGO_PKG_VERSION"),
        git: pipeline.options.git.clone(),
        start: Timestamp::now().to_string(),
        end: None,
        outcome: None,
        benchmarks: benchmarks.to_vec(),
        phases: pipeline
            .options
            .phases
            .iter()
            .map(|phase| phase.as_str())
            .collect(),
        targets: pipeline.targets().cloned().collect(),
        config: pipeline.options.config.clone(),
        models: json!({}),
        results: BTreeMap::new(),
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
}

/// Takes in how the run ended.
pub(super) fn finish(manifest: &mut Manifest, pipeline: &Pipeline, report: &RunReport) {
    manifest.end = Some(Timestamp::now().to_string());
    manifest.models = json!(pipeline.session.meter().model_names());
    manifest.outcome = Some(report.outcome().as_str());
}
