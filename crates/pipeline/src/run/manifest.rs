//! `manifest.json`: what a run was, so that its numbers can be trusted and made again.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Pipeline, benchmark::BenchmarkEnd};
use crate::{error::PipelineError, report::RunReport, tree::write_json};

/// The record of one run: `.probity/runs/<run id>/manifest.json`. It is written when the run starts, with `end` null, and
/// again when it ends.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Manifest {
    /// Version of this format.
    pub format_version: &'static str,
    /// The run's id.
    pub run_id: String,
    /// Version of Probity.
    pub probity_version: &'static str,
    /// `{revision, dirty}` of the folder that the run was started in; null where it is not a git tree.
    pub git: Value,
    /// When the run started, UTC.
    pub start: String,
    /// When it ended, UTC; null while it runs, and for ever when it was killed.
    pub end: Option<String>,
    /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`; null while it runs.
    pub outcome: Option<&'static str>,
    /// The benchmarks asked for.
    pub benchmarks: Vec<String>,
    /// The phases asked for.
    pub phases: Vec<&'static str>,
    /// The targets that ran.
    pub targets: Vec<schema::TargetRef>,
    /// The resolved configuration without secrets.
    pub config: Value,
    /// By model id, the names that the endpoints gave for the model that answered.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub models: Value,
    /// By benchmark: fingerprints of the phases, counts, costs and failures.
    #[schemars(with = "BTreeMap<String, schema::Extra>")]
    pub results: BTreeMap<String, Value>,
}

impl Manifest {
    pub(super) fn start(pipeline: &Pipeline, benchmarks: &[String]) -> Self {
        Self {
            format_version: "1.0.0",
            run_id: pipeline.run_id.to_string(),
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
    pub(super) fn add(&mut self, name: &str, end: &BenchmarkEnd) {
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
        self.results.insert(
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

    pub(super) fn finish(&mut self, pipeline: &Pipeline, report: &RunReport) {
        self.end = Some(Timestamp::now().to_string());
        self.models = json!(pipeline.meter.model_names());
        self.outcome = Some(report.outcome().as_str());
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), PipelineError> {
        write_json(path, self)
    }
}
