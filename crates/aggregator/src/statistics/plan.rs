//! What a planned run could show.

use super::{clusters::float, interval::exact_bounds};
use crate::beta::{student_t_cdf, student_t_quantile};

/// The plan for one metric, and its assumptions.
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
    /// The number of metrics that are compared at once: Holm's correction depends on it.
    pub metrics: u64,
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
            metrics: 1,
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
    /// Whether any difference can become significant.
    pub can_differ: bool,
    /// The difference between two targets that would be shown with a probability of 80%; `None` if there is none.
    pub smallest_difference: Option<f64>,
}

impl PlannedMetric {
    fn rows(&self) -> f64 {
        float(self.scenarios) * self.rows_each
    }

    fn design_effect(&self) -> f64 {
        1.0 + (self.rows_each - 1.0) * self.icc
    }

    fn effective_rows(&self) -> f64 {
        self.rows() / self.design_effect()
    }

    /// What the run could show; `None` without rows.
    #[must_use]
    pub fn plan(&self) -> Option<Plan> {
        if self.scenarios == 0 || self.rows_each.is_nan() || self.rows_each <= 0.0 {
            return None;
        }
        let scenarios = float(self.scenarios);
        let effective_rows = self.effective_rows();
        let (expected_lower, expected_upper) = exact_bounds(self.rate, effective_rows, scenarios);
        let smallest_p = (1.0 - scenarios).exp2().min(1.0);
        Some(Plan {
            design_effect: self.design_effect(),
            effective_rows,
            expected_lower,
            expected_upper,
            upper_if_none_fails: -(super::TAIL.ln() / scenarios).exp_m1(),
            smallest_p,
            can_differ: smallest_p * float(self.metrics) <= 0.05,
            smallest_difference: self.smallest_difference(),
        })
    }

    fn smallest_difference(&self) -> Option<f64> {
        let error = error_of_difference(self.rate, self.correlation, self.effective_rows());
        smallest_difference(self.scenarios, error, self.metrics)
    }
}

/// The standard error of a difference between two targets with the same rate.
pub(super) fn error_of_difference(rate: f64, correlation: f64, effective_rows: f64) -> f64 {
    (2.0 * rate * (1.0 - rate) * (1.0 - correlation) / effective_rows).sqrt()
}

/// The difference that would be shown with a probability of 80% at this standard error; `None` if there is none.
pub(super) fn smallest_difference(scenarios: u64, error: f64, metrics: u64) -> Option<f64> {
    if scenarios < 2 {
        return None;
    }
    let quantile = |chance| student_t_quantile(chance, float(scenarios) - 1.0);
    let reach = quantile(1.0 - super::TAIL / float(metrics.max(1))) + quantile(0.8);
    let difference = reach * error;
    (difference <= 1.0).then_some(difference)
}

/// The probability that a true difference of `difference` between two targets is shown, for a single metric; `None` with
/// fewer than two scenarios, or without variance.
#[must_use]
pub fn power(planned: &PlannedMetric, difference: f64) -> Option<f64> {
    let rows = planned.effective_rows();
    let error = error_of_difference(planned.rate, planned.correlation, rows);
    if planned.scenarios < 2 || error.is_nan() || error <= 0.0 {
        return None;
    }
    let degrees = float(planned.scenarios) - 1.0;
    let needed = student_t_quantile(1.0 - super::TAIL, degrees);
    Some(student_t_cdf(difference / error - needed, degrees))
}

/// The smallest number of base scenarios with which a difference of `difference` is shown with a probability of 80%,
/// everything else as in `planned`; `None` if a hundred million are not sufficient or `difference` is not above 0.
#[must_use]
pub fn scenarios_needed(planned: &PlannedMetric, difference: f64) -> Option<u64> {
    let enough = |scenarios: u64| {
        let planned = PlannedMetric {
            scenarios,
            ..*planned
        };
        planned.plan().is_some_and(|plan| {
            plan.can_differ
                && plan
                    .smallest_difference
                    .is_some_and(|smallest| smallest <= difference)
        })
    };
    if difference.is_nan() || difference <= 0.0 {
        return None;
    }
    let mut high = 2_u64;
    while !enough(high) {
        high = high.checked_mul(2).filter(|high| *high <= 100_000_000)?;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_needed_suffice_and_one_fewer_does_not() {
        let planned = PlannedMetric {
            rows_each: 4.0,
            metrics: 3,
            ..PlannedMetric::default()
        };
        let needed = scenarios_needed(&planned, 0.1).unwrap();
        let smallest = |scenarios| {
            let planned = PlannedMetric {
                scenarios,
                ..planned
            };
            planned.plan().unwrap().smallest_difference.unwrap()
        };
        assert!(smallest(needed) <= 0.1, "{needed}");
        assert!(smallest(needed - 1) > 0.1, "{needed}");
        assert_eq!(scenarios_needed(&planned, 0.0), None);
        assert_eq!(scenarios_needed(&planned, f64::NAN), None);
    }

    #[test]
    fn under_six_scenarios_no_difference_can_be_shown() {
        let can = |scenarios| {
            let planned = PlannedMetric {
                scenarios,
                ..PlannedMetric::default()
            };
            planned.plan().unwrap().can_differ
        };
        assert!(!can(5));
        assert!(can(6));
        assert_eq!(scenarios_needed(&PlannedMetric::default(), 0.99), Some(6));
    }
}
