//! The calls, tokens and cost of a run, beside the cost of all its results.

use schema::{PhaseCost, text::counted};

use crate::{
    numbers::{grouped, short},
    prompt_caches,
    results::cost_text,
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

/// The use of this run, and the use of all results in the tree with the dollars of its `parts`, a text each. Empty if nothing was used.
#[must_use]
pub fn spending_texts(spending: &Spending, parts: &[(&str, PhaseCost)]) -> Vec<String> {
    let is_used = |cost: &PhaseCost| cost.input_tokens > 0 || cost.output_tokens > 0;
    let has_calls = spending.asked > 0 || spending.cached > 0 || is_used(&spending.now);
    let is_all = has_calls && used(&spending.now) == used(&spending.tree);
    let priced = |cost: &PhaseCost| cost.cost.or(cost.priced_cost).unwrap_or_default() > 0.0;
    let dollars: Vec<String> = parts
        .iter()
        .filter(|(_, cost)| priced(cost))
        .map(|(part, cost)| format!("{part} {}", cost_text(Some(cost))))
        .collect();
    let dollars = match dollars.len() < 2 {
        true => String::new(),
        false => dollars.join(", "),
    };
    let mut texts = Vec::new();
    if has_calls {
        let prefix = if is_all { "" } else { "this run: " };
        texts.push(format!(
            "{prefix}{}, {} from the cache; used {}",
            counted(spending.asked, "new reply", "new replies"),
            grouped(spending.cached),
            used(&spending.now)
        ));
    }
    // After a first run, both would say the same.
    if is_all {
        texts.extend((!dollars.is_empty()).then_some(dollars));
    } else if is_used(&spending.tree) || priced(&spending.tree) {
        let all = format!("all results: {}", used(&spending.tree));
        texts.push(match dollars.is_empty() {
            true => all,
            false => format!("{all}: {dollars}"),
        });
    }
    texts
}

fn used(cost: &PhaseCost) -> String {
    let tokens = format!(
        "{} tokens{}",
        short(cost.input_tokens.saturating_add(cost.output_tokens)),
        prompt_caches::text(cost.cached_input_tokens, cost.cache_write_tokens)
    );
    let counted = cost.input_tokens > 0 || cost.output_tokens > 0;
    match (cost.cost, cost.priced_cost) {
        // No endpoint reported any tokens.
        (None, None | Some(0.0)) if !counted => "tokens and dollars unknown".to_owned(),
        (None, None | Some(0.0)) => format!("{tokens}, dollars unknown"),
        _ => format!("{tokens}, {}", cost_text(Some(cost))),
    }
}
