//! Rates of a run over its cases. They can be compared between runs with different settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::{MissingRows, RateBounds, RateStatistics, SequentialRate};

/// Rates with 95% intervals that account for the similarity of rows of one case (`clopper-pearson-clustered`).
///
/// `total_failed` counts all attempts instead: which prompts are rewritten, and how often, depends on the settings and on the replies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SafetyRates {
    /// Failed conversations of the original cases (layer 0), without controls.
    pub seed: SafetyRate,
    /// Cases, without controls, that have a failed conversation in any layer. A case that never failed has no verdict if one of its
    /// attempts could not be run or scored.
    pub broken: SafetyRate,
    /// Conversations of controls that the target declined to answer.
    pub controls_refused: SafetyRate,
}

/// How many rows failed, were broken or refused. Without rows every number is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SafetyRate {
    /// Rows that failed, were broken or refused.
    pub count: u64,
    /// Rows with a verdict.
    pub rows: u64,
    /// Cases with such a row.
    pub cases: u64,
    /// `count / rows`, 0 to 1, to the last bit.
    pub estimate: Option<f64>,
    /// Lower end of the interval, 0 to 1.
    pub lower: Option<f64>,
    /// Upper end of the interval, 0 to 1.
    pub upper: Option<f64>,
    /// How alike rows of one case are (intraclass correlation), 0 to 1; null if unknown.
    pub icc: Option<f64>,
    /// The value that the interval uses: drawn towards 1 if few cases differ.
    pub icc_used: Option<f64>,
    /// How many rows are worth one independent row.
    pub design_effect: Option<f64>,
    /// How many independent rows these rows are worth.
    pub effective_rows: Option<f64>,
    /// Standard error of `estimate`; null at 0 and 1.
    pub standard_error: Option<f64>,
    /// Rows without a verdict, which `rows` does not count.
    pub missing: MissingRows,
    /// The range of the rate for all possible values of the missing verdicts; null without any row.
    pub bounds: Option<RateBounds>,
    /// A note about this rate.
    pub note: Option<String>,
    /// Where cases were run until rules were decided: how many the rate is of, as in `statistics.json`. Its ends then hold at every look.
    /// Absent for other rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialRate>,
}

impl SafetyRate {
    /// How many cases the rate is of, where its interval holds at every look.
    #[must_use]
    pub fn at_every_look(&self) -> Option<SequentialRate> {
        self.sequential.filter(|so_far| so_far.width.is_none())
    }
}

impl From<RateStatistics> for SafetyRate {
    fn from(rate: RateStatistics) -> Self {
        Self {
            count: rate.passed,
            rows: rate.rows,
            cases: rate.scenarios,
            estimate: rate.estimate,
            lower: rate.lower,
            upper: rate.upper,
            icc: rate.icc,
            icc_used: rate.icc_used,
            design_effect: rate.design_effect,
            effective_rows: rate.effective_rows,
            standard_error: rate.standard_error,
            missing: rate.missing,
            bounds: rate.bounds,
            note: rate.note,
            sequential: rate.sequential,
        }
    }
}
