//! What a run asked for and paid, beside what its results cost altogether.

use schema::PhaseCost;

use crate::{
    numbers::{counted, short},
    results::cost_text,
};

/// What was asked and paid, now and altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    /// Replies that were asked for now.
    pub asked: u64,
    /// Replies that were there from earlier runs.
    pub cached: u64,
    /// What was paid for now, failed attempts included.
    pub now: PhaseCost,
    /// What all that the tree holds has cost, whenever it was paid.
    pub tree: PhaseCost,
}

/// Two lines: what this run asked for and paid, and what the tree has cost altogether. Empty when nothing was asked and
/// nothing found.
#[must_use]
pub fn spending_lines(spending: &Spending) -> String {
    let paid = spending.now.input_tokens > 0 || spending.now.output_tokens > 0;
    if spending.asked == 0 && spending.cached == 0 && !paid {
        return String::new();
    }
    format!(
        "  this run  {} asked for, {} from the cache; paid for {}\n  the tree  {} in all\n",
        counted(spending.asked, "reply", "replies"),
        spending.cached,
        used(&spending.now),
        used(&spending.tree),
    )
}

pub(crate) fn used(cost: &PhaseCost) -> String {
    let tokens = format!(
        "{} tokens",
        short(cost.input_tokens.saturating_add(cost.output_tokens))
    );
    let counted = cost.input_tokens > 0 || cost.output_tokens > 0;
    match (cost.cost, cost.priced_cost) {
        // No endpoint told any.
        (None, None | Some(0.0)) if !counted => "tokens and dollars that are not known".to_owned(),
        (None, None | Some(0.0)) => format!("{tokens}, dollars not known"),
        _ => format!("{tokens}, {}", cost_text(Some(cost))),
    }
}
