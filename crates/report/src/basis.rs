//! What results rest on beside their rows: how old the replies are, and which calls are assumed to be free.

use schema::TargetBasis;

use crate::text::{clean, hanging};

/// A line for each fact, indented by two columns.
#[must_use]
pub fn basis_lines(basis: &[TargetBasis], width: usize) -> String {
    let lines = basis.iter().flat_map(TargetBasis::lines);
    lines
        .map(|line| hanging(&clean(&line), "  ", "    ", width))
        .collect()
}
