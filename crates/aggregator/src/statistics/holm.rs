//! Corrects p-values for multiple comparisons.

/// Holm's step-down correction: each p-value adjusted for the others, at most 1. Missing p-values remain missing and do
/// not count.
#[must_use]
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> = p_values
        .iter()
        .enumerate()
        .filter_map(|(place, p)| p.map(|p| (p, place)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut corrected = vec![None; p_values.len()];
    let mut largest = 0.0_f64;
    for (smaller, (p, place)) in order.iter().enumerate() {
        let left = u32::try_from(order.len() - smaller).unwrap_or(u32::MAX);
        largest = largest.max(p * f64::from(left)).min(1.0);
        if let Some(slot) = corrected.get_mut(*place) {
            *slot = Some(largest);
        }
    }
    corrected
}
