//! Summary rows: `results.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MetricType, ModelId};

/// One row of `results.json`: the results of one system under test. It has exactly these keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The system under test.
    pub target_model: ModelId,
    /// Share of scored rows of positive metrics that passed, 0 to 1, rounded to four decimals; null if none was scored.
    pub positive_pass_rate: Option<f64>,
    /// The same for negative metrics.
    pub negative_pass_rate: Option<f64>,
    /// All rows of positive metrics, including those without a verdict.
    pub n_positive: u64,
    /// All rows of negative metrics, including those without a verdict.
    pub n_negative: u64,
    /// All rows.
    pub n_total: u64,
    /// By metric id, sorted.
    pub by_metric: BTreeMap<String, Rate>,
    /// By scenario id, sorted.
    pub by_scenario: BTreeMap<String, Rate>,
}

impl Summary {
    /// The pass rate of one type of metric.
    #[must_use]
    pub fn pass_rate(&self, metric_type: MetricType) -> Option<f64> {
        match metric_type {
            MetricType::Positive => self.positive_pass_rate,
            MetricType::Negative => self.negative_pass_rate,
        }
    }
}

/// The pass rate of some scored rows. Rows without a verdict are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// `n_passed / n_total`, rounded to four decimals; null if `n_total` is 0.
    pub pass_rate: Option<f64>,
    /// Rows that passed.
    pub n_passed: u64,
    /// Rows with a verdict.
    pub n_total: u64,
}

impl Rate {
    /// The rate of `n_passed` among `n_total` scored rows.
    #[must_use]
    pub fn new(n_passed: u64, n_total: u64) -> Self {
        Self {
            pass_rate: rate(n_passed, n_total),
            n_passed,
            n_total,
        }
    }
}

/// `passed / total` rounded half to even to four decimals, like Python's `round`; `None` if `total` is 0.
pub(crate) fn rate(passed: u64, total: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
    let exact = (total > 0).then(|| passed as f64 / total as f64)?;
    // Formatting rounds the exact binary value, as Python's `round` does.
    format!("{exact:.4}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_to_four_decimals_and_null_without_rows() {
        assert_eq!(Rate::new(1, 3).pass_rate, Some(0.3333));
        assert_eq!(Rate::new(2, 3).pass_rate, Some(0.6667));
        // Python: round(1 / 32, 4) is 0.0312 (half to even: 0.03125 is exact in binary).
        assert_eq!(Rate::new(1, 32).pass_rate, Some(0.0312));
        assert_eq!(Rate::new(0, 0).pass_rate, None);
        assert_eq!(Rate::new(0, 5).pass_rate, Some(0.0));
    }
}
