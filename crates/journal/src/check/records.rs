//! The parts of single events that the rules need, and their counts.

use std::collections::HashMap;

use schema::{EventBody, event::FinishedPipeline};
use serde::Deserialize;

use crate::PartialEvent;

/// A field that a rule requires. Its text follows "has no".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MissingField {
    #[error("{0} that is a text")]
    Text(&'static str),
    #[error("{0} that are a list of texts")]
    Texts(&'static str),
    #[error("annotation whose is_safe is true or false")]
    Verdict,
    #[error("{0}")]
    Any(&'static str),
}

/// A line "starting run". Lists that are missing, or do not consist of texts, are `None`.
#[derive(Clone, Debug)]
pub(crate) struct RunStart {
    pub(crate) line: u64,
    pub(crate) run_id: Option<String>,
    pub(crate) benchmarks: Option<Vec<String>>,
    pub(crate) tests: Option<Vec<String>>,
    pub(crate) suts: Option<Vec<String>>,
}

impl RunStart {
    /// The run start in `event` of line `line`, if it is one.
    pub(crate) fn read(line: u64, event: &PartialEvent<'_>) -> Option<Self> {
        let if_fits = |name: &str, list: &[String]| event.fits(name).then(|| list.to_vec());
        Some(match &*event.body {
            EventBody::StartingRun(run) => Self {
                line,
                run_id: run.run_id.clone(),
                benchmarks: if_fits("benchmarks", &run.benchmarks),
                tests: if_fits("tests", &run.tests),
                suts: event
                    .fits("suts")
                    .then(|| run.suts.iter().map(ToString::to_string).collect()),
            },
            EventBody::StartingCalibrationRun(run) => Self {
                line,
                run_id: event.fits("run_id").then(|| run.run_id.clone()),
                benchmarks: if_fits("benchmarks", &run.benchmarks),
                tests: run.tests.clone(),
                suts: run.suts.clone(),
            },
            _ => return None,
        })
    }
}

/// Counts for a test and a SUT.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairCounts {
    /// Lines "measured item quality".
    pub(crate) measured: u64,
    /// Measurements with the value 1.0.
    pub(crate) safe: u64,
    /// Lines "test scored".
    pub(crate) scored: u64,
    /// The value in the last line "test scored".
    pub(crate) items_finished: Option<f64>,
}

/// Counts for a test, a SUT and an annotator.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnnotatorCounts {
    pub(crate) translated: u64,
    pub(crate) invalid: u64,
}

/// A line "hazard info".
#[derive(Clone, Debug)]
pub(crate) struct Hazard {
    pub(crate) name: String,
    pub(crate) benchmark: Option<String>,
    pub(crate) tests: Vec<u32>,
}

/// The scores of a hazard and a SUT.
#[derive(Clone, Debug, Default)]
pub(crate) struct HazardScore {
    pub(crate) scored: u64,
    pub(crate) calibrated: u64,
    /// `None` for `null` and for anything that is not a number.
    pub(crate) score: Option<f64>,
}

/// The counts of "finished pipeline".
#[derive(Clone, Debug)]
pub(crate) struct FinishedCounts {
    pub(crate) total: u64,
    pub(crate) counts: HashMap<String, HashMap<String, u64>>,
}

impl FinishedCounts {
    /// The numbers in `finished`; `None` where one of them is missing.
    pub(crate) fn read(finished: &FinishedPipeline) -> Option<Self> {
        let counts = finished.finished_counts.as_ref()?;
        Some(Self {
            total: finished.total_finished?,
            counts: Deserialize::deserialize(counts).ok()?,
        })
    }
}
