//! Fractions with exact confidence bounds.

use schema::Estimate;

use crate::{
    interval::{exact::exact_bounds, rounded},
    statistics::float,
};

/// The fraction `passed / samples` with its exact two-sided 95% interval (Clopper-Pearson), its bounds to 13 digits; `None`
/// without samples. `passed` is limited to `samples`.
///
/// ```
/// let estimate = aggregator::estimate(9, 10).unwrap();
/// assert_eq!(estimate.estimate, 0.9);
/// assert!((estimate.lower - 0.554_983_882_971_805).abs() < 1e-12);
/// assert!((estimate.upper - 0.997_471_421_455_538).abs() < 1e-12);
/// assert_eq!(aggregator::estimate(0, 0), None);
/// ```
#[must_use]
pub fn estimate(passed: u64, samples: u64) -> Option<Estimate> {
    let passed = passed.min(samples);
    let fraction = (samples > 0).then(|| float(passed) / float(samples))?;
    Some(bounded(fraction, float(passed), samples))
}

/// The fraction over several parts, each given as the fraction that passed and the number of samples, with its interval; `None`
/// if there are no samples or a fraction is not from 0 to 1.
///
/// The number of passed samples is the sum of fraction times samples. The interval needs a whole number: the sum is rounded half
/// to even, and the interval is widened if it would not contain the fraction. If the numbers of passed samples are known,
/// [`estimate`] of their sum is exact to the last bit.
#[must_use]
pub fn combine(parts: impl IntoIterator<Item = (f64, u64)>) -> Option<Estimate> {
    let mut passed = 0.0;
    let mut samples = 0_u64;
    for (fraction, n) in parts {
        if !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        passed += fraction * float(n);
        samples = samples.checked_add(n)?;
    }
    let fraction = (samples > 0).then(|| passed / float(samples))?;
    Some(bounded(fraction, passed.round_ties_even(), samples))
}

/// `passed` is a whole number, near `fraction` times `samples`.
fn bounded(fraction: f64, passed: f64, samples: u64) -> Estimate {
    let trials = float(samples);
    let (lower, upper) = exact_bounds(passed.clamp(0.0, trials), trials);
    Estimate {
        lower: rounded(lower).min(fraction),
        estimate: fraction,
        upper: rounded(upper).max(fraction),
        samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_none_have_one_bound_each() {
        let none = estimate(0, 5).unwrap();
        assert_eq!((none.lower, none.estimate), (0.0, 0.0));
        let all = estimate(5, 5).unwrap();
        assert_eq!((all.estimate, all.upper), (1.0, 1.0));
        assert!((none.upper - (1.0 - all.lower)).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_fraction_has_no_interval() {
        assert_eq!(combine([]), None);
        assert_eq!(combine([(0.5, 0)]), None);
        assert_eq!(combine([(1.5, 2)]), None);
        assert_eq!(combine([(f64::NAN, 2)]), None);
        assert_eq!(combine([(0.5, u64::MAX), (0.5, 1)]), None);
        assert_eq!(estimate(7, 5), estimate(5, 5));
    }
}
