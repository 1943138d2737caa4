//! How reliable judges are: `judge` of a target in `statistics.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JudgeAgainstPeople;
use crate::ReadingKind;

/// The judges of a system under test's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeStatistics {
    /// Judge by judge, in the order of the panel; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<OneJudgeStatistics>,
    /// How far they agree on whether the behaviour is present; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "AgreementStatistics::is_unknown")]
    pub agreement: AgreementStatistics,
    /// The same by metric id, for metrics with a row with two or more verdicts; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, AgreementStatistics>,
    /// The verdicts compared with labels of people, if the target has a `labels.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<JudgeAgainstPeople>,
}

/// The verdicts of one judge over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneJudgeStatistics {
    /// The judge's id.
    pub judge: String,
    /// Rows with a verdict of this judge.
    pub rows: u64,
    /// Rows in which it found the behaviour.
    pub present: u64,
    /// Rows without a verdict of this judge.
    pub missing: u64,
    /// The share of the rows with both verdicts in which it agrees with the panel, 0 to 1; null if there are none.
    pub with_panel: Option<f64>,
    /// How often it gave the same verdict again; empty if no row was judged again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingStatistics>,
}

/// Further verdicts of a judge on the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingStatistics {
    /// The kind of repetition.
    pub reading: ReadingKind,
    /// Rows with both verdicts.
    pub rows: u64,
    /// Rows in which the judge gave the same verdict on the behaviour.
    pub same: u64,
}

impl OneJudgeStatistics {
    /// The minimum number of verdicts for which a judge that never varies is worth a warning.
    pub const ENOUGH_TO_VARY: u64 = 10;
}

/// How far judges agree, both observed and corrected for chance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementStatistics {
    /// Rows with verdicts of two or more judges.
    pub rows: u64,
    /// The share of pairs of verdicts on one row that are equal, 0 to 1.
    pub agreement: Option<f64>,
    /// Cohen's kappa, with two judges; null if it is undefined, as when all verdicts are equal.
    pub kappa: Option<f64>,
    /// Krippendorff's alpha; null if it is undefined.
    pub alpha: Option<f64>,
    /// Gwet's AC1.
    pub ac1: Option<f64>,
    /// Krippendorff's alpha of the values on the scale of a metric, ordinal: near values disagree less than distant ones. Absent if the
    /// verdicts are not values, or it is undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal_alpha: Option<f64>,
}

impl AgreementStatistics {
    /// Whether no row has verdicts of two judges.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.rows == 0
    }
}
