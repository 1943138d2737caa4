//! What a planned run takes of its budget.

use probity::Range;
use schema::{numbers::dollars, text::counted};

use crate::config::Settings;

/// The limits of the run's spending, and the expected spending.
pub struct Budget {
    pub(super) max_cost: Option<f64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) dollars: Range<f64>,
    pub(super) tokens: Range<u64>,
    /// Whether the price of some rows is unknown.
    pub(super) unpriced: bool,
}

impl Budget {
    /// The budget of a run, and what `rows` take of it.
    pub fn of(settings: &Settings, rows: &[probity::PlanRow]) -> Self {
        let none = Range {
            low: 0.0,
            high: 0.0,
        };
        Self {
            max_cost: settings.budget_limits().dollars,
            max_tokens: settings.budget_limits().tokens,
            dollars: rows
                .iter()
                .filter_map(|row| row.cost)
                .fold(none, |sum, cost| sum + cost),
            tokens: rows.iter().fold(Range::default(), |sum, row| {
                sum + row.input_tokens + row.output_tokens
            }),
            unpriced: rows.iter().any(|row| row.cost.is_none()),
        }
    }

    /// Whether the budget suffices: `yes`, `perhaps` or `no`; `None` without a budget.
    pub(super) fn suffices(&self) -> Option<&'static str> {
        let below = |low: bool, high: bool| match (low, high) {
            (true, _) => 2,
            (_, true) => 1,
            _ => 0,
        };
        let dollars = self.max_cost.map(|max| {
            // A run with a budget in dollars does not start while a price is unknown.
            below(
                max < self.dollars.low || self.unpriced,
                max < self.dollars.high,
            )
        });
        let tokens = self
            .max_tokens
            .map(|max| below(max < self.tokens.low, max < self.tokens.high));
        let worst = dollars.max(tokens)?;
        Some(match worst {
            0 => "yes",
            1 => "perhaps",
            _ => "no",
        })
    }

    /// Whether the budget suffices, in words; `None` without a budget.
    pub fn line(&self) -> Option<String> {
        let suffices = match self.suffices()? {
            "yes" => "holds",
            "perhaps" => "may not be enough",
            _ => "is not enough",
        };
        let tokens = self
            .max_tokens
            .map(|tokens| counted(tokens, "token", "tokens"));
        let limits: Vec<String> = self
            .max_cost
            .map(dollars)
            .into_iter()
            .chain(tokens)
            .collect();
        Some(format!("{}, {suffices}", limits.join(" and ")))
    }

    /// Remarks about a budget that is too small.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = |name: &str, max: String, low: String, high: String, never: bool| {
            words.push(if never {
                format!(
                    "{name} is {max}, which is not enough: the run takes at least {low}. It would stop on the way; finished rows are kept"
                )
            } else {
                format!("{name} is {max}, which may not be enough: the run takes {low} to {high}")
            });
        };
        if let Some(max) = self.max_cost.filter(|max| *max < self.dollars.high) {
            word(
                "budget.max_cost",
                dollars(max),
                dollars(self.dollars.low),
                dollars(self.dollars.high),
                max < self.dollars.low,
            );
        }
        if let Some(max) = self.max_tokens.filter(|max| *max < self.tokens.high) {
            let tokens = |n: u64| counted(n, "token", "tokens");
            word(
                "budget.max_tokens",
                tokens(max),
                tokens(self.tokens.low),
                tokens(self.tokens.high),
                max < self.tokens.low,
            );
        }
        if self.max_cost.is_some() && self.unpriced {
            words.push(
                "a run with a budget in dollars does not start while a model has no price; add it under `prices` in the config"
                    .to_owned(),
            );
        }
        words
    }
}
