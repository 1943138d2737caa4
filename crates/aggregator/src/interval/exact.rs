//! Clopper and Pearson's interval of a share of independent rows.

use super::TAIL;
use crate::beta::{chance_of_at_least, chance_of_at_most};

/// The 95% bounds of the share `passed / rows`. Both may be fractional; 0 <= `passed` <= `rows`, 0 < `rows`.
pub(crate) fn exact_bounds(passed: f64, rows: f64) -> (f64, f64) {
    let lower = if passed <= 0.0 {
        0.0
    } else {
        chance_of_at_least(passed, rows, TAIL)
    };
    let upper = if passed >= rows {
        1.0
    } else {
        chance_of_at_most(passed, rows, TAIL)
    };
    (lower, upper)
}
