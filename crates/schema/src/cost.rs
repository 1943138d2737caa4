//! Tokens and dollars.

use serde::{Deserialize, Serialize};

/// What one call used, in tokens, as the endpoint reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Those of them that the endpoint read from its own prompt cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// Those of them that were thinking.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// What a number of calls used and cost. Sums with [`Spend::add`].
///
/// Unknown is not zero: a call whose price is not known counts in `unpriced_calls`, and [`Spend::total_cost`] is then `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// Calls that were billed, or may have been: failed attempts with usage included.
    pub calls: u64,
    /// See [`Usage`].
    pub input_tokens: u64,
    /// See [`Usage`].
    pub cached_input_tokens: u64,
    /// See [`Usage`].
    pub output_tokens: u64,
    /// See [`Usage`].
    pub reasoning_tokens: u64,
    /// Dollars of the calls whose price is known.
    pub priced_cost: f64,
    /// Calls whose price is not known, or that came without usage.
    pub unpriced_calls: u64,
}

impl Spend {
    /// What one call used, and its dollars where they are known.
    #[must_use]
    pub fn of_call(usage: Option<Usage>, cost: Option<f64>) -> Self {
        let used = usage.unwrap_or_default();
        Self {
            calls: 1,
            input_tokens: used.input_tokens,
            cached_input_tokens: used.cached_input_tokens,
            output_tokens: used.output_tokens,
            reasoning_tokens: used.reasoning_tokens,
            priced_cost: cost.unwrap_or(0.0),
            unpriced_calls: u64::from(cost.is_none()),
        }
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.priced_cost += other.priced_cost;
        self.unpriced_calls += other.unpriced_calls;
    }

    /// Dollars of all the calls; `None` when the price of one of them is not known.
    #[must_use]
    pub fn total_cost(&self) -> Option<f64> {
        (self.unpriced_calls == 0).then_some(self.priced_cost)
    }

    /// The entry of `cost.json`, and `_usage` of a row.
    #[must_use]
    pub fn to_phase_cost(&self) -> PhaseCost {
        let priced = round_dollars(self.priced_cost);
        PhaseCost {
            cost: self.total_cost().map(round_dollars),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            priced_cost: (self.unpriced_calls > 0).then_some(priced),
            unpriced_calls: self.unpriced_calls,
        }
    }
}

/// Rounds to six decimals, as `cost.json` has it.
fn round_dollars(dollars: f64) -> f64 {
    format!("{dollars:.6}").parse().unwrap_or(dollars)
}

/// What calls used and cost, as the tree's files write it: dollars rounded to six decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseCost {
    /// Dollars; null when the price of a call is not known, so that such a model never looks free.
    pub cost: Option<f64>,
    /// Tokens sent.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens received.
    #[serde(default)]
    pub output_tokens: u64,
    /// Dollars of the calls whose price is known; present only when `cost` is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced_cost: Option<f64>,
    /// Calls whose price is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpriced_call_makes_the_cost_null_and_keeps_the_priced_part() {
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 5,
            ..Usage::default()
        };
        let mut spend = Spend::of_call(Some(usage), Some(0.000_001_4));
        assert_eq!(spend.to_phase_cost().cost, Some(0.000_001));
        spend.add(&Spend::of_call(Some(usage), None));
        let cost = spend.to_phase_cost();
        assert_eq!(
            (cost.cost, cost.priced_cost, cost.unpriced_calls),
            (None, Some(0.000_001), 1)
        );
        assert_eq!((cost.input_tokens, cost.output_tokens), (20, 10));
    }
}
