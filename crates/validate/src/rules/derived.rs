//! Values of derived files that the rows do not give.

use schema::text::counted;
use store::WrongValue;

use crate::checker::Found;

/// The most values that are reported one by one.
const MOST_WRONG: usize = 10;

/// The first of the values, one by one, and how many there are besides.
pub(super) fn wrong_values(wrong: &[WrongValue]) -> Vec<Found> {
    let first = wrong.iter().take(MOST_WRONG);
    let mut found: Vec<Found> = first
        .map(|wrong| {
            let reason = format!("is {}, computed again {}", wrong.written, wrong.computed);
            Found::problem(&wrong.pointer, reason)
        })
        .collect();
    let more = wrong.len().saturating_sub(MOST_WRONG);
    if more > 0 {
        let reason = format!(
            "{} differ from what the rows give",
            counted(more as u64, "further value", "further values")
        );
        found.push(Found::problem("", reason).last());
    }
    found
}
