//! The power of the test where each scenario has one row: McNemar's test, exactly.

use super::shares::{binomial, count};
use crate::beta::incomplete_beta;

/// The probability that the test of `scenarios` differences of -1, 0 or 1, with these chances, says that the first target
/// is better, at the level `level`.
pub(super) fn power(scenarios: u64, level: f64, chances: &[f64]) -> f64 {
    let &[minus, _, plus] = chances else {
        return 0.0;
    };
    let differ = (minus + plus).clamp(0.0, 1.0);
    let (Ok(scenarios), true) = (usize::try_from(scenarios), differ > 0.0) else {
        return 0.0;
    };
    let better = plus / (minus + plus);
    let mut differing = vec![0.0; scenarios + 1];
    binomial(&mut differing, differ);
    let mut least = 0;
    let mut power = 0.0;
    for (n, chance) in differing.iter().enumerate().skip(1) {
        // One more difference asks for as many or one more in favour.
        while least <= n && (2 * least <= n || 2.0 * at_least(least, n, 0.5) > level) {
            least += 1;
        }
        if least <= n && *chance > 1e-18 {
            power += chance * at_least(least, n, better);
        }
    }
    power.min(1.0)
}

/// The chance of `k` or more of `n`, each with the probability `share`; 0 < `k` <= `n`.
fn at_least(k: usize, n: usize, share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return if share <= 0.0 { 0.0 } else { 1.0 };
    }
    incomplete_beta(count(k), count(n - k) + 1.0, share, 1.0 - share)
}
