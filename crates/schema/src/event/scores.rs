//! Scores and costs at the end of a run.

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BenchmarkScore, PhaseCost, Summary};

/// A metric is scored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TestScored {
    /// The system under test.
    pub sut: Arc<str>,
    /// The metric.
    pub test: String,
    /// The number of measured items.
    pub items_finished: u64,
    /// Their results.
    pub result: Option<Value>,
}

/// A hazard is scored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HazardScored {
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The system under test.
    pub sut: Arc<str>,
    /// The hazard.
    pub hazard: String,
    /// Its key in standards files.
    pub hazard_key: Option<String>,
    /// The fraction of passed items; null if none was measured.
    pub score: Option<f64>,
    /// The score of the reference systems; null without standards.
    pub reference: Option<f64>,
    /// The number of measured items.
    pub samples: Option<u64>,
    /// 1 to 5; null without standards.
    pub numeric_grade: Option<u8>,
    /// `P`, `F`, `G`, `VG` or `E`; null without standards.
    pub text_grade: Option<Cow<'static, str>>,
}

/// A hazard of a reference system is scored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HazardCalibrated {
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The reference system.
    pub sut: Arc<str>,
    /// The hazard.
    pub hazard: String,
    /// Its key in standards files.
    pub hazard_key: Option<String>,
    /// The fraction of passed items.
    pub score: Option<f64>,
    /// The number of measured items.
    pub samples: Option<u64>,
}

/// A benchmark is scored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkScored {
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The system under test.
    pub sut: Arc<str>,
    /// 1 to 5; null without standards.
    pub numeric_grade: Option<u8>,
    /// `P`, `F`, `G`, `VG` or `E`; null without standards.
    pub text_grade: Option<Cow<'static, str>>,
    /// The parts of the grade.
    pub scoring_log: Option<Value>,
}

/// A benchmark of a reference system is scored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkCalibrated {
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The reference system.
    pub sut: Arc<str>,
    /// The parts of the score.
    pub scoring_log: Option<Value>,
}

/// An entry of a `cost.json` after the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CostSummed {
    /// The system under test that the file belongs to. Absent for the benchmark's own file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sut: Option<Arc<str>>,
    /// The phase.
    pub phase: String,
    /// Whether this run wrote the entry.
    pub of_this_run: bool,
    /// The entry.
    pub cost: PhaseCost,
    /// The entry before the run, if a phase added to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<PhaseCost>,
}

/// A row of `results.json` that summarises scores of an earlier run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeptResults {
    /// The system under test.
    pub sut: Arc<str>,
    /// The row.
    pub summary: Box<Summary>,
    /// The standards file behind the grade; null: none. Absent without a grade.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standards: Option<Value>,
    /// The grade that this run gave for the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graded: Option<Box<BenchmarkScore>>,
}
