//! Tokens and dollars.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one call used, in tokens, as the endpoint reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// The part of them that the endpoint read from its own prompt cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// The part of them that the endpoint wrote to its own prompt cache, if it reports this. Absent in files if unknown or 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// The part of them that was thinking.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Adds `other` to this. Sums saturate at the largest number.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.cached_input_tokens, other.cached_input_tokens);
        add(&mut self.cache_write_tokens, other.cache_write_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
    }
}

/// What a number of calls used and cost. [`Spend::add`] adds more calls.
///
/// Unknown is not zero: a call with an unknown price counts in `unpriced_calls`, and [`Spend::total_cost`] is then `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// Calls that were billed or may have been, including failed attempts with usage.
    pub calls: u64,
    /// See [`Usage`].
    pub input_tokens: u64,
    /// See [`Usage`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// See [`Usage`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// See [`Usage`].
    pub output_tokens: u64,
    /// See [`Usage`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Dollars of the calls whose price is known.
    pub priced_cost: f64,
    /// Calls whose price is not known, or that came without usage.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
}

impl Spend {
    /// What one call used, and its dollars if they are known.
    #[must_use]
    pub fn of_call(usage: Option<Usage>, cost: Option<f64>) -> Self {
        let used = usage.unwrap_or_default();
        Self {
            calls: 1,
            input_tokens: used.input_tokens,
            cached_input_tokens: used.cached_input_tokens,
            cache_write_tokens: used.cache_write_tokens,
            output_tokens: used.output_tokens,
            reasoning_tokens: used.reasoning_tokens,
            priced_cost: cost.unwrap_or(0.0),
            unpriced_calls: u64::from(cost.is_none()),
        }
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        let mut used = self.usage();
        used.add(&other.usage());
        *self = Self {
            calls: self.calls + other.calls,
            priced_cost: self.priced_cost + other.priced_cost,
            unpriced_calls: self.unpriced_calls + other.unpriced_calls,
            ..Self::of_call(Some(used), None)
        };
    }

    /// The tokens of all calls.
    fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
            reasoning_tokens: self.reasoning_tokens,
        }
    }

    /// The difference from `earlier`, an earlier value of the same sum.
    #[must_use]
    pub fn minus(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            cached_input_tokens: self
                .cached_input_tokens
                .saturating_sub(earlier.cached_input_tokens),
            cache_write_tokens: self
                .cache_write_tokens
                .saturating_sub(earlier.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
            reasoning_tokens: self
                .reasoning_tokens
                .saturating_sub(earlier.reasoning_tokens),
            priced_cost: (self.priced_cost - earlier.priced_cost).max(0.0),
            unpriced_calls: self.unpriced_calls.saturating_sub(earlier.unpriced_calls),
        }
    }

    /// Dollars of all calls; `None` if the price of one of them is unknown.
    #[must_use]
    pub fn total_cost(&self) -> Option<f64> {
        (self.unpriced_calls == 0).then_some(self.priced_cost)
    }

    /// `_usage` of a row: dollars exact to ten decimals, which is finer than the price of one token.
    #[must_use]
    pub fn to_phase_cost(&self) -> PhaseCost {
        let priced = round_to(self.priced_cost, ROW_DECIMALS);
        PhaseCost {
            cost: (self.unpriced_calls == 0).then_some(priced),
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
            priced_cost: (self.unpriced_calls > 0).then_some(priced),
            unpriced_calls: self.unpriced_calls,
        }
    }
}

/// Decimals of dollars in a row's `_usage`.
const ROW_DECIMALS: usize = 10;

/// Decimals of dollars in `cost.json`.
const FILE_DECIMALS: usize = 6;

fn round_to(dollars: f64, decimals: usize) -> f64 {
    format!("{dollars:.decimals$}").parse().unwrap_or(dollars)
}

/// What calls used and cost, in the form of the tree's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseCost {
    /// Dollars; null if the price of a call is unknown, so that such a model never looks free.
    pub cost: Option<f64>,
    /// Tokens sent.
    #[serde(default)]
    pub input_tokens: u64,
    /// The part of them that the endpoints read from their own prompt caches. Absent if unknown or 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// The part of them that the endpoints wrote to their own prompt caches, where they report this. Absent if unknown or 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens received.
    #[serde(default)]
    pub output_tokens: u64,
    /// Dollars of the calls whose price is known. Only present if `cost` is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced_cost: Option<f64>,
    /// Calls whose price is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
}

impl PhaseCost {
    /// The sum of this and `spend`.
    #[must_use]
    pub fn and(&self, spend: &Spend) -> Self {
        let mut sum = Spend {
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
            priced_cost: self.cost.or(self.priced_cost).unwrap_or_default(),
            unpriced_calls: self.unpriced_calls,
            ..Spend::default()
        };
        sum.add(spend);
        sum.to_phase_cost()
    }

    /// Whether both say the same of the same calls. The tokens of prompt caches are compared where both have some: files of earlier
    /// versions have none.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let has_caches = |cost: &Self| cost.cached_input_tokens + cost.cache_write_tokens > 0;
        let without_caches = |cost: &Self| Self {
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            ..*cost
        };
        match has_caches(self) && has_caches(other) {
            true => self == other,
            false => without_caches(self) == without_caches(other),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Sums the `_usage` of rows to an entry of `cost.json`.
///
/// Dollars are summed as whole numbers of 10^-10 dollars, so that the sum does not depend on the order in which rows finish.
#[derive(Clone, Copy, Debug, Default)]
pub struct CostSum {
    units: i128,
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    unpriced_calls: u64,
}

impl CostSum {
    /// Adds the usage of one row. A row without a cost counts as unpriced.
    pub fn add(&mut self, usage: &PhaseCost) {
        let known = usage.cost.or(usage.priced_cost).unwrap_or(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float cast saturates, and no run costs 10^28 dollars"
        )]
        let units = (known * 1e10).round() as i128;
        self.units += units;
        let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n);
        add(&mut self.input_tokens, usage.input_tokens);
        add(&mut self.cached_input_tokens, usage.cached_input_tokens);
        add(&mut self.cache_write_tokens, usage.cache_write_tokens);
        add(&mut self.output_tokens, usage.output_tokens);
        let unpriced = if usage.cost.is_none() {
            usage.unpriced_calls.max(1)
        } else {
            0
        };
        self.unpriced_calls += unpriced;
    }

    /// The entry of `cost.json`: dollars rounded to six decimals.
    #[must_use]
    pub fn total(&self) -> PhaseCost {
        #[expect(
            clippy::cast_precision_loss,
            reason = "rounded to six decimals in any case"
        )]
        let dollars = round_to(self.units as f64 / 1e10, FILE_DECIMALS);
        PhaseCost {
            cost: (self.unpriced_calls == 0).then_some(dollars),
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
            priced_cost: (self.unpriced_calls > 0).then_some(dollars),
            unpriced_calls: self.unpriced_calls,
        }
    }
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
        assert_eq!(spend.to_phase_cost().cost, Some(0.000_001_4));
        spend.add(&Spend::of_call(Some(usage), None));
        let mut sum = CostSum::default();
        sum.add(&spend.to_phase_cost());
        let cost = sum.total();
        assert_eq!(
            (cost.cost, cost.priced_cost, cost.unpriced_calls),
            (None, Some(0.000_001), 1)
        );
        assert_eq!((cost.input_tokens, cost.output_tokens), (20, 10));
    }

    #[test]
    fn tokens_of_prompt_caches_are_summed_and_missing_in_files_of_before() {
        let usage = Usage {
            input_tokens: 100,
            cached_input_tokens: 60,
            cache_write_tokens: 30,
            ..Usage::default()
        };
        let row = Spend::of_call(Some(usage), Some(0.5)).to_phase_cost();
        let mut sum = CostSum::default();
        sum.add(&row);
        sum.add(&row);
        let total = sum.total();
        assert_eq!(
            (total.cached_input_tokens, total.cache_write_tokens),
            (120, 60)
        );
        let text = serde_json::to_string(&row).unwrap();
        let earlier = text.replace(r#""cached_input_tokens":60,"cache_write_tokens":30,"#, "");
        assert_ne!(earlier, text);
        let earlier: PhaseCost = serde_json::from_str(&earlier).unwrap();
        assert!(earlier.agrees_with(&row) && row.agrees_with(&earlier));
        let other = PhaseCost {
            cached_input_tokens: 61,
            ..row
        };
        assert!(!other.agrees_with(&row));
        let more = PhaseCost {
            input_tokens: 101,
            ..earlier
        };
        assert!(!more.agrees_with(&row));
    }

    #[test]
    fn sums_do_not_depend_on_the_order_of_rows() {
        let row = |cost| PhaseCost {
            cost: Some(cost),
            ..PhaseCost::default()
        };
        let costs = [0.1, 0.2, 0.3, 1e-7, 3.3e-9, 0.7];
        let sum = |order: &mut dyn Iterator<Item = &f64>| {
            let mut sum = CostSum::default();
            order.for_each(|cost| sum.add(&row(*cost)));
            sum.total().cost
        };
        assert_eq!(sum(&mut costs.iter()), sum(&mut costs.iter().rev()));
        assert_eq!(sum(&mut costs.iter()), Some(1.3));
    }
}
