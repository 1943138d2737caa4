//! What a planned run could show.

use super::{
    clusters::{float, whole},
    power::{PowerQuestion, smallest_difference, smallest_p},
};
use crate::interval::{TAIL, clustered::capped_bounds};

/// The plan for one metric, or for the rows of several, and its assumptions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedMetric {
    /// Base scenarios.
    pub scenarios: u64,
    /// Mean rows of each: variants times samples.
    pub rows_each: f64,
    /// The correlation of rows of one scenario, 0 to 1.
    pub icc: f64,
    /// The expected rate, 0 to 1.
    pub rate: f64,
    /// The correlation between two targets over scenarios, 0 to 1.
    pub correlation: f64,
    /// The number of comparisons that are corrected together: pairs of targets times metrics.
    pub comparisons: u64,
}

impl Default for PlannedMetric {
    /// One row of one scenario, with the assumptions for an unknown metric: a rate of 0.8, correlations of 0.3.
    fn default() -> Self {
        Self {
            scenarios: 1,
            rows_each: 1.0,
            icc: 0.3,
            rate: 0.8,
            correlation: 0.3,
            comparisons: 1,
        }
    }
}

/// What a run of this size could show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The number of rows per independent row.
    pub design_effect: f64,
    /// The effective number of independent rows.
    pub effective_rows: f64,
    /// The expected lower end of the 95% interval.
    pub expected_lower: f64,
    /// The expected upper end of the 95% interval.
    pub expected_upper: f64,
    /// The upper bound of the failure rate if no row fails: 1 minus the lower bound of the rate.
    pub upper_if_none_fails: f64,
    /// The smallest p-value that a comparison of two targets can reach.
    pub smallest_p: f64,
    /// Whether any difference can be shown.
    pub can_differ: bool,
    /// The difference between two targets that is shown with a probability of 80%; `None` if there is none.
    pub smallest_difference: Option<f64>,
}

impl PlannedMetric {
    /// What the run could show; `None` without rows.
    #[must_use]
    pub fn plan(&self) -> Option<Plan> {
        if self.scenarios == 0 || self.rows_each.is_nan() || self.rows_each <= 0.0 {
            return None;
        }
        let scenarios = float(self.scenarios);
        let design_effect = 1.0 + (self.rows_each - 1.0) * self.icc;
        let effective_rows = scenarios * self.rows_each / design_effect;
        let (expected_lower, expected_upper) = capped_bounds(self.rate, effective_rows, scenarios);
        let smallest_p = smallest_p(self.scenarios);
        Some(Plan {
            design_effect,
            effective_rows,
            expected_lower,
            expected_upper,
            upper_if_none_fails: -(TAIL.ln() / scenarios).exp_m1(),
            smallest_p,
            can_differ: smallest_p * float(self.comparisons) <= 0.05,
            smallest_difference: smallest_difference(&self.power_question()),
        })
    }

    /// The comparison of two targets of this size.
    #[must_use]
    pub fn power_question(&self) -> PowerQuestion {
        PowerQuestion {
            scenarios: self.scenarios,
            rows: self.whole_rows_each(),
            icc: self.icc,
            rate: self.rate,
            correlation: self.correlation,
            comparisons: self.comparisons,
        }
    }

    /// Mean rows of each scenario, rounded; 1 at least.
    #[must_use]
    pub fn whole_rows_each(&self) -> u64 {
        whole(self.rows_each + 0.5).max(1)
    }
}
