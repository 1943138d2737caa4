//! Comparisons of two sides, and whether they differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// Two targets, or two runs of one, in one scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The first target: its rate is `rate_a`.
    pub a: ModelId,
    /// The second target: its rate is `rate_b`.
    pub b: ModelId,
    /// `all`, or a metric's id.
    pub scope: String,
    /// The difference over the scenarios that both have a verdict for.
    #[serde(flatten)]
    pub difference: DifferenceStatistics,
}

/// A difference of two rates over the same scenarios, with its 95% interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceStatistics {
    /// Metrics of scenarios with a verdict on both sides.
    pub units: u64,
    /// Metrics of scenarios with a verdict on only one side.
    pub unmatched: u64,
    /// Base scenarios of the units.
    pub scenarios: u64,
    /// The mean over units of the first side's rate.
    pub rate_a: f64,
    /// The mean over units of the second side's rate.
    pub rate_b: f64,
    /// `rate_a - rate_b`.
    pub difference: f64,
    /// Lower end of the interval, -1 to 1.
    pub lower: f64,
    /// Upper end of the interval, -1 to 1.
    pub upper: f64,
    /// The number of independent rows that the first side's rows are worth.
    pub effective_rows_a: f64,
    /// The number of independent rows that the second side's rows are worth.
    pub effective_rows_b: f64,
    /// How far both sides find the same scenarios difficult.
    pub correlation: f64,
    /// Base scenarios in which the rows that the test compares differ; null without a test.
    #[serde(default)]
    pub scenarios_that_differ: Option<u64>,
    /// The probability of a difference at least as large if both sides are interchangeable, not corrected for other comparisons. Null
    /// without a test: the sides of a scenario have unequal numbers of verdicts, and a baseline does not say which came first.
    pub p_value: Option<f64>,
    /// `p_value`, corrected for the comparisons of its family. Null without a test, and for pooled comparisons of a file of format 1, which
    /// did not correct them.
    #[serde(alias = "p_holm")]
    pub p_corrected: Option<f64>,
    /// The comparisons that are corrected together.
    #[serde(default)]
    pub family: DifferenceFamily,
    /// How many comparisons of the family have a p-value.
    #[serde(default)]
    pub family_size: u64,
    /// The method for `p_value`: `none differ`, `exact` or `normal`; null without a test.
    pub test: Option<String>,
    /// Where no difference is shown, the smallest that scenarios and rows like these show four times in five; null where they could not
    /// have shown any.
    #[serde(default)]
    pub could_have_shown: Option<f64>,
    /// The conclusion: `differ`; `no difference shown`, and which difference could have been; or that there is no test.
    pub says: String,
}

impl DifferenceStatistics {
    /// Two sides differ if the corrected p-value is at most this.
    pub const DIFFER: f64 = 0.05;
    /// The name of the test whose p-values and intervals hold at every look.
    pub const BETTING: &str = "betting";

    /// Whether its interval and p-value hold at every look.
    #[must_use]
    pub fn is_so_far(&self) -> bool {
        self.test.as_deref() == Some(Self::BETTING)
    }

    /// Whether a difference is shown.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.p_corrected.is_some_and(|p| p <= Self::DIFFER)
    }
}

/// Comparisons that are corrected together: in all of them the chance that one or more are wrong to say `differ` is at most 5%.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceFamily {
    /// Those of the pooled rows of all metrics: of all pairs of targets, or of all axes and values of one target's variants.
    Pooled,
    /// Those by metric: of all pairs and metrics, or of all metrics, axes and values of one target's variants.
    #[default]
    Metric,
}
