//! The calls, tokens and cost of a run, beside the cost of all its results.

use schema::{PhaseCost, text::counted};

use crate::{
    numbers::{grouped, short},
    results::cost_text,
    text::hanging,
};

/// Calls, tokens and cost of this run, and of all results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    /// New replies: replies from endpoints, not from the cache.
    pub asked: u64,
    /// Replies from the cache.
    pub cached: u64,
    /// The use of this run, failed attempts included.
    pub now: PhaseCost,
    /// The use of all results in the tree, of earlier runs too.
    pub tree: PhaseCost,
}

/// The use of this run and the use of the tree, in lines of at most `width` columns. Empty if this run used no reply.
#[must_use]
pub fn spending_lines(spending: &Spending, width: usize) -> String {
    let paid = spending.now.input_tokens > 0 || spending.now.output_tokens > 0;
    if spending.asked == 0 && spending.cached == 0 && !paid {
        return String::new();
    }
    let labels = ["  this run  ", "  the tree  "];
    // After a first run, both lines would say the same.
    let shown = match used(&spending.now) == used(&spending.tree) {
        true => &labels[..1],
        false => &labels,
    };
    lines(spending, shown, width)
}

/// A line for each of `labels`: the use of this run, then the use of all results.
pub(crate) fn lines(spending: &Spending, labels: &[&str], width: usize) -> String {
    let now = format!(
        "{}, {} from the cache; used {}",
        counted(spending.asked, "new reply", "new replies"),
        grouped(spending.cached),
        used(&spending.now)
    );
    let all = format!("{} in all", used(&spending.tree));
    let line = |label: &str, text: &str| hanging(text, label, &" ".repeat(label.len()), width);
    labels
        .iter()
        .zip([now, all])
        .map(|(label, text)| line(label, &text))
        .collect()
}

fn used(cost: &PhaseCost) -> String {
    let tokens = format!(
        "{} tokens",
        short(cost.input_tokens.saturating_add(cost.output_tokens))
    );
    let counted = cost.input_tokens > 0 || cost.output_tokens > 0;
    match (cost.cost, cost.priced_cost) {
        // No endpoint reported any tokens.
        (None, None | Some(0.0)) if !counted => "tokens and dollars unknown".to_owned(),
        (None, None | Some(0.0)) => format!("{tokens}, dollars unknown"),
        _ => format!("{tokens}, {}", cost_text(Some(cost))),
    }
}
