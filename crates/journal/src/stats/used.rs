//! Tokens and dollars of calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::{CountedCall, Ending};

/// Usage and cost of calls. An unknown value is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallUsage")]
pub struct Used {
    /// Tokens sent, as far as the journal has them; null if it has no reply.
    pub input_tokens: Option<u64>,
    /// The part of them that endpoints read from their own prompt caches. Absent if unknown or 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// The part of them that endpoints wrote to their own prompt caches, where they report this. Absent if unknown or 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// Dollars; null if the price of any call is unknown.
    pub cost: Option<f64>,
    /// Dollars of the calls with a known price.
    pub priced_cost: f64,
    /// Calls with an unknown price.
    pub unpriced_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Used {
    /// Adds the usage of a call.
    pub(super) fn push(&mut self, call: &CountedCall<'_>) {
        match call.spend {
            Some(spend) => self.add(&Self {
                input_tokens: Some(spend.input_tokens),
                cached_input_tokens: spend.cached_input_tokens,
                cache_write_tokens: spend.cache_write_tokens,
                output_tokens: Some(spend.output_tokens),
                cost: None,
                priced_cost: spend.priced_cost,
                unpriced_calls: spend.unpriced_calls,
            }),
            None if call.ending == Ending::Fetched => {
                self.unpriced_calls = self.unpriced_calls.saturating_add(1);
            }
            None => {}
        }
    }

    /// Adds unfinished sums.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.cached_input_tokens = self
            .cached_input_tokens
            .saturating_add(other.cached_input_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.priced_cost += other.priced_cost;
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
    }

    /// The final sums of calls, `fetched` of which were replies of an endpoint. Without such replies, the usage
    /// is zero.
    pub(super) fn finish(self, fetched: u64) -> Self {
        let known = |tokens: Option<u64>| tokens.or((fetched == 0).then_some(0));
        Self {
            input_tokens: known(self.input_tokens),
            output_tokens: known(self.output_tokens),
            cost: (self.unpriced_calls == 0).then_some(self.priced_cost),
            ..self
        }
    }
}
