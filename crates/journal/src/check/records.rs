//! What single events tell, and what is counted of them.

use std::collections::HashMap;

/// What a journal tells of a start of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunStart {
    pub(crate) line: u64,
    pub(crate) run_id: Option<String>,
    pub(crate) benchmarks: Option<Vec<String>>,
    pub(crate) tests: Option<Vec<String>>,
    pub(crate) suts: Option<Vec<String>>,
}

/// What is counted for a test and a SUT.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairCounts {
    /// Lines "measured item quality".
    pub(crate) measured: u64,
    /// Those of them that say 1.0.
    pub(crate) safe: u64,
    /// Lines "test scored".
    pub(crate) scored: u64,
    /// What the last of them says.
    pub(crate) items_finished: Option<f64>,
}

/// What is counted for a test, a SUT and an annotator.
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

/// What is said of a hazard and a SUT.
#[derive(Clone, Debug, Default)]
pub(crate) struct HazardScore {
    pub(crate) scored: u64,
    pub(crate) calibrated: u64,
    /// `null` and what is no number are `None`.
    pub(crate) score: Option<f64>,
}

/// "finished pipeline" in numbers.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCounts {
    pub(crate) total: u64,
    pub(crate) counts: HashMap<String, HashMap<String, u64>>,
}
