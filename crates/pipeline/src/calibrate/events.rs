//! The journal of a calibration.

use std::{collections::BTreeSet, fs, path::PathBuf};

use journal::{JournalError, JournalWriter, RunId};
use schema::{Benchmark, BenchmarkScore, Event, Journal, ModelId};
use serde_json::{Value, json};

use crate::{error::PipelineError, layout::Layout};

/// What was calibrated.
pub(super) struct Calibrated<'a> {
    pub(super) benchmark: &'a Benchmark,
    pub(super) uid: &'a str,
    pub(super) scores: &'a [BenchmarkScore],
    /// The journals of the runs that made the scores.
    pub(super) journals: &'a BTreeSet<String>,
}

/// Tells a journal of its own what the calibration found. It asks nothing of a model, so it has no items.
pub(super) fn write_journal(
    layout: &Layout,
    run_id: &RunId,
    of: &Calibrated<'_>,
) -> Result<PathBuf, PipelineError> {
    let Calibrated {
        benchmark,
        uid,
        scores,
        journals,
    } = *of;
    let folder = layout.run(&run_id.to_string());
    fs::create_dir_all(&folder).map_err(|error| PipelineError::write(&folder, error))?;
    let failed = |error: JournalError| PipelineError::output(error.to_string()).with_source(error);
    let writer = JournalWriter::create(&folder, run_id).map_err(failed)?;
    let event = |message: &'static str| Event::new(message, "calibrate", "write_journal");
    let suts: Vec<&ModelId> = scores.iter().map(|score| &score.sut).collect();
    writer.record(
        event("starting calibration run")
            .with("run_id", run_id.to_string())
            .with("benchmarks", json!([uid]))
            .with("tests", json!([]))
            .with("suts", json!([]))
            .with("max_items", Value::Null)
            .with("thread_count", 1_u32)
            .with("reference_suts", json!(suts)),
    );
    for hazard in benchmark.scored_hazards() {
        writer.record(
            event("hazard info")
                .with("hazard", hazard.id)
                .with("benchmark", uid.to_owned())
                .with("tests", json!(hazard.metrics)),
        );
    }
    for score in scores {
        for hazard in &score.hazards {
            writer.record(
                event("hazard calibrated")
                    .with("benchmark", uid.to_owned())
                    .with("sut", &score.sut)
                    .with("hazard", hazard.hazard.clone())
                    .with("hazard_key", hazard.hazard.clone())
                    .with("score", json!(hazard.score.map(|score| score.estimate)))
                    .with("samples", hazard.score.map_or(0, |score| score.samples)),
            );
        }
        writer.record(
            event("benchmark calibrated")
                .with("benchmark", uid.to_owned())
                .with("sut", &score.sut)
                .with(
                    "scoring_log",
                    json!({"from": "the scores in the benchmark tree", "journals": journals}),
                ),
        );
    }
    writer.record(event("finished run").with("run_id", run_id.to_string()));
    let path = writer.path().to_owned();
    writer.close().map_err(failed)?;
    Ok(path)
}
