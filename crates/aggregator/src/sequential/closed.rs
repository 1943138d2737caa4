//! The e-values of a family.

/// The e-values `e` of a family, each adjusted for the others: the least mean over all sets of them that it is in. "Differ" by an adjusted value
/// of 20 or more is wrong for any of the family with a chance of at most 5% (Vovk and Wang, "E-values: Calibration, combination and
/// applications", 2021).
///
/// ```
/// assert_eq!(aggregator::sequential::adjusted_e_values(&[25.0, 0.0]), [12.5, 0.0]);
/// ```
#[must_use]
pub fn adjusted_e_values(e: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..e.len()).collect();
    let value = |at: usize| e.get(at).copied().unwrap_or_default();
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    (0..e.len())
        .map(|of| {
            let (mut sum, mut count, mut least) = (value(of), 1.0, value(of));
            for other in order.iter().filter(|other| **other != of) {
                sum += value(*other);
                count += 1.0;
                least = f64::min(least, sum / count);
            }
            least
        })
        .collect()
}
