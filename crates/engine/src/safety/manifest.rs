//! Fills the manifest of a safety run.

use jiff::Timestamp;
use serde_json::json;
use store::{Manifest, RunError, SafetySetup, write_json};

use super::{SafetyReport, SafetyRun};
use crate::session::model_names;

/// The manifest of a run that is starting. Its `benchmarks` is empty.
pub(super) fn start(run: &SafetyRun) -> Manifest {
    let groups = run.groups.iter();
    Manifest {
        format_version: Manifest::FORMAT_VERSION.to_owned(),
        run_id: run.session.run_id().to_string(),
        probity_version: env!("CARGO_PKG_VERSION").to_owned(),
        git: run.git.clone(),
        start: Timestamp::now().to_string(),
        phases: vec![format!("safety_{}", run.mode.as_str())],
        targets: run.targets.iter().map(|one| one.target.clone()).collect(),
        config: run.config.clone(),
        safety: Some(SafetySetup {
            groups: groups
                .map(|group| (group.name.clone(), group.cases.len().into()))
                .collect(),
            parts: run.parts(),
            judge_prompts: run.judge_prompts,
        }),
        ..Manifest::default()
    }
}

/// Adds the results and how the run ended.
pub(super) fn finish(manifest: &mut Manifest, run: &SafetyRun, report: &SafetyReport) {
    let result = |target: &super::TargetReport| {
        let value = json!({
            "passed": target.tally.passed,
            "failed": target.tally.failed,
            "errors": target.tally.errors,
            "not_run": target.not_run,
            "cost": target.cost,
            "basis": target.basis,
            "file": target.file,
        });
        (target.target.id.to_string(), value)
    };
    manifest.end = Some(Timestamp::now().to_string());
    manifest.outcome = Some(outcome(report).to_owned());
    manifest.models = model_names(run.session.meter());
    manifest.results = report.targets.iter().map(result).collect();
}

/// Writes it into the folder of the run, where the run has one.
pub(super) fn write(manifest: &Manifest, run: &SafetyRun) -> Result<(), RunError> {
    match &run.records {
        Some(folder) => write_json(&folder.join(Manifest::FILE), manifest),
        None => Ok(()),
    }
}

/// The outcome, named as for a run of benchmarks.
fn outcome(report: &SafetyReport) -> &'static str {
    let scored = |target: &super::TargetReport| target.tally.passed + target.tally.failed > 0;
    let whole = |target: &super::TargetReport| {
        target.tally.errors + target.not_run.budget + target.not_run.stopped == 0
    };
    if report.judge_gave_up.is_some() {
        "nothing_ran"
    } else if report.interrupted {
        "interrupted"
    } else if report.targets.iter().all(whole) {
        "complete"
    } else if report.targets.iter().any(scored) {
        "failed_rows"
    } else {
        "nothing_ran"
    }
}
