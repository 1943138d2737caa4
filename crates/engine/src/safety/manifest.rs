//! `manifest.json` of a safety run: what it was, so that its numbers can be trusted and made again.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{SafetyReport, SafetyRun};
use store::{PipelineError, write_json};

/// The record of one run. It is written when the run starts, with `end` null, and again when it ends. Its keys are those of a
/// benchmark's run; `benchmarks` is empty.
pub(super) struct Manifest {
    path: Option<PathBuf>,
    content: Value,
}

impl Manifest {
    pub(super) fn start(run: &SafetyRun) -> Self {
        let targets: Vec<_> = run.targets.iter().map(|target| &target.target).collect();
        let groups: Map<String, Value> = run
            .groups
            .iter()
            .map(|group| (group.name.clone(), group.cases.len().into()))
            .collect();
        Self {
            path: run
                .records
                .as_ref()
                .map(|folder| folder.join("manifest.json")),
            content: json!({
                "format_version": "1.0.0",
                "run_id": run.session.run_id(),
                "probity_version": env!("CARGO_PKG_VERSION"),
                "git": run.git,
                "start": Timestamp::now().to_string(),
                "end": null,
                "outcome": null,
                "benchmarks": [],
                "phases": [format!("safety_{}", run.mode.as_str())],
                "targets": targets,
                "config": run.config,
                "models": {},
                "results": {},
                "safety": {"groups": groups, "parts": run.parts()},
            }),
        }
    }

    pub(super) fn finish(&mut self, run: &SafetyRun, report: &SafetyReport) {
        let result = |target: &super::TargetReport| {
            let value = json!({
                "passed": target.tally.passed,
                "failed": target.tally.failed,
                "errors": target.tally.errors,
                "not_run": target.not_run,
                "cost": target.cost,
                "file": target.file,
            });
            (target.target.id.to_string(), value)
        };
        let results: Map<String, Value> = report.targets.iter().map(result).collect();
        for (key, value) in [
            ("end", json!(Timestamp::now().to_string())),
            ("outcome", json!(outcome(report))),
            ("models", json!(run.session.meter().model_names())),
            ("results", Value::Object(results)),
        ] {
            if let Some(slot) = self.content.get_mut(key) {
                *slot = value;
            }
        }
    }

    pub(super) fn write(&self) -> Result<(), PipelineError> {
        match &self.path {
            Some(path) => write_json(path, &self.content),
            None => Ok(()),
        }
    }
}

/// In the words of a benchmark's run.
fn outcome(report: &SafetyReport) -> &'static str {
    let scored = |target: &super::TargetReport| target.tally.passed + target.tally.failed > 0;
    let whole = |target: &super::TargetReport| {
        target.tally.errors + target.not_run.budget + target.not_run.stopped == 0
    };
    if report.interrupted {
        "interrupted"
    } else if report.targets.iter().all(whole) {
        "complete"
    } else if report.targets.iter().any(scored) {
        "failed_rows"
    } else {
        "nothing_ran"
    }
}
