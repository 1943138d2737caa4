//! The p-values that a test can give, and the correction of a family of tests that uses them.

/// Two p-values of a test that differ by less than this share are the same.
const SAME: f64 = 1e-9;

/// The p-values that a test can give.
#[derive(Clone, Debug, PartialEq)]
pub enum Attainable {
    /// Any from 0 to 1.
    Any,
    /// These, in rising order.
    These(Vec<f64>),
}

impl Attainable {
    /// The smallest p-value.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        match self {
            Self::Any => 0.0,
            Self::These(values) => values.first().copied().unwrap_or(1.0),
        }
    }

    /// The largest p-value up to `p`; 0 if there is none.
    fn largest_up_to(&self, p: f64) -> f64 {
        match self {
            Self::Any => p,
            Self::These(values) => {
                let number = values.partition_point(|value| *value <= p * (1.0 + SAME));
                let place = number.checked_sub(1);
                place
                    .and_then(|place| values.get(place))
                    .map_or(0.0, |p| *p)
            }
        }
    }
}

/// The p-values of a family of tests, corrected together: the chance that one or more of those at most 0.05 are wrong is
/// at most 5%.
///
/// It is Holm's step-down correction in which a test counts only with p-values that it can have: the sum over it and all
/// tests with larger p-values of the largest p-value that each can have up to this one. So a test that can never be
/// below p costs nothing. A test without a p-value stays without one and does not count.
///
/// ```
/// use aggregator::statistics::{Attainable, corrected_p_values};
///
/// let any = Attainable::Any;
/// let never = Attainable::These(vec![0.25, 1.0]);
/// let corrected = corrected_p_values(&[Some((0.02, &any)), Some((0.25, &never))]);
/// assert_eq!(corrected, [Some(0.02), Some(0.25)]); // 0.04 by Holm's correction
/// ```
#[must_use]
pub fn corrected_p_values(tests: &[Option<(f64, &Attainable)>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize, &Attainable)> = tests
        .iter()
        .enumerate()
        .filter_map(|(place, test)| test.map(|(p, attainable)| (p, place, attainable)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut corrected = vec![None; tests.len()];
    let mut largest = 0.0_f64;
    for (smaller, (p, place, _)) in order.iter().enumerate() {
        let left = order.iter().skip(smaller);
        let sum: f64 = left.map(|(.., test)| test.largest_up_to(*p)).sum();
        largest = largest.max(sum).min(1.0);
        if let Some(slot) = corrected.get_mut(*place) {
            *slot = Some(largest);
        }
    }
    corrected
}
