//! The journal of a calibration.

use std::{collections::BTreeSet, fs, path::PathBuf};

use journal::{JournalError, JournalWriter, RunId};
use schema::{
    Benchmark, BenchmarkScore, Event, EventBody, Journal,
    event::{
        BenchmarkCalibrated, FinishedRun, HazardCalibrated, HazardInfo, StartingCalibrationRun,
    },
};
use serde_json::json;

use store::{Layout, RunError};

/// The content of a calibration.
pub(super) struct Calibrated<'a> {
    pub(super) benchmark: &'a Benchmark,
    pub(super) uid: &'a str,
    pub(super) scores: &'a [BenchmarkScore],
    /// The journals of the runs that produced the scores.
    pub(super) journals: &'a BTreeSet<String>,
}

/// Writes the result of the calibration to a separate journal. No model is called, so there are no items.
pub(super) fn write_journal(
    layout: &Layout,
    run_id: &RunId,
    of: &Calibrated<'_>,
) -> Result<PathBuf, RunError> {
    let Calibrated {
        benchmark,
        uid,
        scores,
        journals,
    } = *of;
    let folder = layout.run(&run_id.to_string());
    fs::create_dir_all(&folder).map_err(|error| RunError::write(&folder, error))?;
    let failed = |error: JournalError| RunError::output(error.to_string()).with_source(error);
    let writer = JournalWriter::create(&folder, run_id).map_err(failed)?;
    let record = |body| writer.record(Event::new(body).by("calibrate", "write_journal"));
    record(EventBody::StartingCalibrationRun(StartingCalibrationRun {
        run_id: run_id.to_string(),
        benchmarks: vec![uid.to_owned()],
        tests: Some(Vec::new()),
        suts: Some(Vec::new()),
        max_items: None,
        thread_count: Some(1),
        reference_suts: Some(scores.iter().map(|score| score.sut.shared()).collect()),
    }));
    for hazard in benchmark.scored_hazards() {
        record(EventBody::HazardInfo(HazardInfo {
            hazard: hazard.id,
            benchmark: uid.to_owned(),
            tests: hazard.metrics,
        }));
    }
    for score in scores {
        for hazard in &score.hazards {
            record(EventBody::HazardCalibrated(HazardCalibrated {
                benchmark: Some(uid.to_owned()),
                sut: score.sut.shared(),
                hazard: hazard.hazard.clone(),
                hazard_key: Some(hazard.hazard.clone()),
                score: hazard.score.map(|score| score.estimate),
                samples: Some(hazard.score.map_or(0, |score| score.samples)),
            }));
        }
        let log = json!({"from": "the scores in the benchmark tree", "journals": journals});
        record(EventBody::BenchmarkCalibrated(BenchmarkCalibrated {
            benchmark: Some(uid.to_owned()),
            sut: score.sut.shared(),
            scoring_log: Some(log),
        }));
    }
    record(EventBody::FinishedRun(FinishedRun {
        run_id: run_id.to_string(),
    }));
    let path = writer.path().to_owned();
    writer.close().map_err(failed)?;
    Ok(path)
}
