//! Intervals of a rate. Each method is one file, from counts to the two bounds:
//!
//! - [`exact`]: independent rows, Clopper and Pearson's bounds. Scores of hazards use it ([`crate::estimate`]).
//! - [`clustered`]: rows of one base scenario are alike, so they count as fewer rows. All rates of [`crate::statistics`] use it.
//!
//! Another method (Wilson's, a bootstrap) is another file here. [`clustered::clustered_rate`] is where rates get their bounds, and
//! `docs/statistics.md` says which method a number has; `tests/vectors` has the values that other programs compute.
//! Differences of two rates (`statistics/difference.rs`) and rates corrected by labels (`statistics/corrected.rs`) are built from these
//! bounds.

pub(crate) mod clustered;
pub(crate) mod exact;

/// The probability outside of a two-sided 95% interval, on each side.
pub(crate) const TAIL: f64 = 0.025;

/// Rounds to 13 digits: the last digits of logarithms differ between machines, and files should not.
pub(crate) fn rounded(bound: f64) -> f64 {
    format!("{bound:.12e}").parse().unwrap_or(bound)
}
