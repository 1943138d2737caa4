//! The interval of a rate whose rows are alike within a base scenario.

use super::{TAIL, exact::exact_bounds, rounded};
use crate::{
    beta::incomplete_beta,
    statistics::{Cluster, TINY, whole},
};

/// A rate with its 95% interval over base scenarios.
///
/// The interval is Clopper and Pearson's at a fractional number of effective rows: `rows` divided by the design effect,
/// which comes from the analysis-of-variance estimate of the intra-class correlation, shrunk towards 1 if few scenarios
/// differ. It is never better than the interval of the same rows if all had passed (or all had failed).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredRate {
    /// Rows with a verdict; at least 1.
    pub rows: u64,
    /// Base scenarios with at least one such row.
    pub scenarios: u64,
    /// Passed rows divided by all rows, to the last bit.
    pub estimate: f64,
    /// Lower bound, 0 to 1, to 13 digits, never above `estimate`.
    pub lower: f64,
    /// Upper bound, 0 to 1, to 13 digits, never below `estimate`.
    pub upper: f64,
    /// The correlation of rows of one scenario, 0 (none) to 1 (all equal); `None` if it is unknown: one scenario, one
    /// row in each, or all rows agree.
    pub icc: Option<f64>,
    /// The correlation that the interval uses; `None` if every scenario has one row.
    pub icc_used: Option<f64>,
    /// The number of rows per independent row; at least 1.
    pub design_effect: f64,
    /// The effective number of independent rows: `rows / design_effect`.
    pub effective_rows: f64,
    /// `sqrt(p (1 - p) / effective_rows)`; `None` if the rate is 0 or 1.
    pub standard_error: Option<f64>,
}

/// The rate of these base scenarios with its interval; `None` without rows. Scenarios without rows are left out. Pass
/// them in the order of their ids, so that sums are always the same.
#[must_use]
pub fn clustered_rate(clusters: &[Cluster]) -> Option<ClusteredRate> {
    let sums = Sums::of(clusters)?;
    let (lower, upper) = sums.bounds();
    Some(ClusteredRate {
        rows: whole(sums.rows),
        scenarios: whole(sums.scenarios),
        estimate: sums.rate,
        lower: rounded(lower).min(sums.rate),
        upper: rounded(upper).max(sums.rate),
        icc: sums.icc,
        icc_used: sums.icc_used(),
        design_effect: sums.design_effect,
        effective_rows: sums.effective_rows(),
        standard_error: sums.standard_error(),
    })
}

/// The sums that intervals are computed from.
pub(crate) struct Sums {
    /// n: all rows.
    rows: f64,
    /// C: clusters with rows.
    scenarios: f64,
    /// p.
    rate: f64,
    /// w: the mean over rows of the number of rows in the row's scenario.
    rows_each: f64,
    icc: Option<f64>,
    /// t: the number of scenarios with a failed row, or with a passed row, whichever is smaller.
    pub(crate) informative: f64,
    design_effect: f64,
}

impl Sums {
    pub(crate) fn of(clusters: &[Cluster]) -> Option<Self> {
        let clusters = || clusters.iter().filter(|cluster| cluster.rows() > 0.0);
        let rows: f64 = clusters().map(Cluster::rows).sum();
        if rows <= 0.0 {
            return None;
        }
        let scenarios = clusters().fold(0.0, |count, _| count + 1.0);
        let rate = (clusters().map(Cluster::sum).sum::<f64>() / rows).clamp(0.0, 1.0);
        let rows_each = clusters().map(|c| c.rows() * c.rows()).sum::<f64>() / rows;
        let failed = clusters().filter(|c| c.mean() < 1.0).count();
        let passed = clusters().filter(|c| c.mean() > 0.0).count();
        let between = clusters().map(|c| c.rows() * (c.mean() - rate).powi(2));
        let within = clusters().map(Cluster::squares_within);
        let mut sums = Self {
            rows,
            scenarios,
            rate,
            rows_each,
            icc: None,
            informative: f64::from(u32::try_from(failed.min(passed)).unwrap_or(u32::MAX)),
            design_effect: 1.0,
        };
        sums.icc = sums.correlation(between.sum(), within.sum());
        sums.design_effect = 1.0 + (rows_each - 1.0) * sums.icc_drawn_to_one();
        Some(sums)
    }

    /// The analysis-of-variance estimate of the intra-class correlation, from the sums of squares between and within.
    fn correlation(&self, between: f64, within: f64) -> Option<f64> {
        if self.scenarios < 2.0 || self.rows <= self.scenarios {
            return None;
        }
        let between = between / (self.scenarios - 1.0);
        let within = within / (self.rows - self.scenarios);
        if between + within <= TINY {
            return None;
        }
        let size = (self.rows - self.rows_each) / (self.scenarios - 1.0);
        let icc = (between - within) / (between + (size - 1.0) * within);
        Some(icc.clamp(0.0, 1.0))
    }

    /// The correlation that the interval uses; 1 if it is unknown.
    pub(crate) fn icc_drawn_to_one(&self) -> f64 {
        let t = self.informative;
        self.icc.map_or(1.0, |icc| (t * icc + 1.0) / (t + 1.0))
    }

    fn icc_used(&self) -> Option<f64> {
        (self.rows > self.scenarios).then(|| self.icc_drawn_to_one())
    }

    /// N.
    pub(crate) fn effective_rows(&self) -> f64 {
        self.rows / self.design_effect
    }

    /// p.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// A: the number of equally large scenarios with the same weight; at least 1.
    pub(crate) fn effective_scenarios(&self) -> f64 {
        self.rows / self.rows_each
    }

    fn standard_error(&self) -> Option<f64> {
        let variance = self.rate * (1.0 - self.rate) / self.effective_rows();
        (variance > 0.0).then(|| variance.sqrt())
    }

    fn bounds(&self) -> (f64, f64) {
        capped_bounds(self.rate, self.effective_rows(), self.effective_scenarios())
    }

    /// The limits of `rate`, a mean over units, at the effective rows of these. Differences are computed from them.
    pub(crate) fn limits(&self, rate: f64) -> (f64, f64) {
        capped_bounds(rate, self.effective_rows(), self.effective_scenarios())
    }

    /// C.
    pub(crate) fn scenarios(&self) -> f64 {
        self.scenarios
    }
}

/// Clopper and Pearson's bounds of `rate` in a fractional number of rows, capped by the number of scenarios.
pub(crate) fn capped_bounds(rate: f64, rows: f64, scenarios: f64) -> (f64, f64) {
    let bounds = exact_bounds(rate * rows, rows);
    capped(rate, bounds, (TAIL.ln() / scenarios).exp())
}

/// Whether the lower bound that [`capped_bounds`] finds is `limit` or more: one look at the distribution, where the bound itself takes
/// fifty. 0 < `limit` < 1.
pub(crate) fn lower_is_at_least(rate: f64, rows: f64, scenarios: f64, limit: f64) -> bool {
    let passed = rate * rows;
    rate >= limit
        && (TAIL.ln() / scenarios).exp() >= limit
        && incomplete_beta(passed, (rows - passed).max(0.0) + 1.0, limit, 1.0 - limit) <= TAIL
}

/// Whether the upper bound that [`capped_bounds`] finds is `limit` or less. 0 < `limit` < 1.
pub(crate) fn upper_is_at_most(rate: f64, rows: f64, scenarios: f64, limit: f64) -> bool {
    lower_is_at_least(1.0 - rate, rows, scenarios, 1.0 - limit)
}

/// A failed row never raises the lower bound above `cap`, the bound of the same rows if all had passed.
fn capped(rate: f64, (lower, upper): (f64, f64), cap: f64) -> (f64, f64) {
    (lower.min(cap).min(rate), upper.max(1.0 - cap).max(rate))
}
