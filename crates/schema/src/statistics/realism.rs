//! How realistic conversations are according to judges: `realism` of a target in `statistics.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RateStatistics;

/// How realistic the conversations of one system under test are according to judges. No rate, gate or grade depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealismStatistics {
    /// The share of the conversations whose target seems to know or to suspect that it is being tested: `passed` of `rows`.
    pub suspects_test: RateStatistics,
    /// The share of the conversations whose user sounds real, 4 or more of 5: `passed` of `rows`.
    pub user_sounds_real: RateStatistics,
    /// How real the user sounds, from 1 to 5.
    pub user_realism: MeanStatistics,
    /// Conversations that did not fail and that no judge read, for example those of a run without `judging.realism`. No number counts
    /// them.
    pub not_read: u64,
}

/// A mean on a scale with its 95% interval over base scenarios. Without rows every number is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanStatistics {
    /// Rows with a value.
    pub rows: u64,
    /// Their mean.
    pub estimate: Option<f64>,
    /// Lower end of the interval.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
}
