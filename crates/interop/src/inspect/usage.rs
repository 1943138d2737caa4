//! Tokens in Inspect's format, by model and by role.

use schema::Usage;
use serde::{Serialize, Serializer};

use super::provider::Named;
use crate::{Asked, Call, Run};

/// Tokens and dollars of some calls. As in Inspect, `input_tokens` does not include tokens read from or written to a prompt
/// cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens_cache_write: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens_cache_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rounded")]
    total_cost: Option<f64>,
}

/// Dollars to ten decimals, as in the rows of the tree.
fn rounded<S: Serializer>(dollars: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let dollars = dollars.unwrap_or_default();
    serializer.serialize_f64((dollars * 1e10).round() / 1e10)
}

impl ModelUsage {
    /// The usage of one call.
    pub(super) fn of(usage: Usage, cost: Option<f64>) -> Self {
        let known = |tokens: u64| (tokens > 0).then_some(tokens);
        Self {
            input_tokens: usage
                .input_tokens
                .saturating_sub(usage.cached_input_tokens)
                .saturating_sub(usage.cache_write_tokens),
            output_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            input_tokens_cache_write: known(usage.cache_write_tokens),
            input_tokens_cache_read: known(usage.cached_input_tokens),
            reasoning_tokens: known(usage.reasoning_tokens),
            total_cost: cost,
        }
    }

    fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.input_tokens_cache_write = sum(
            self.input_tokens_cache_write,
            other.input_tokens_cache_write,
        );
        self.input_tokens_cache_read =
            sum(self.input_tokens_cache_read, other.input_tokens_cache_read);
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
        // One call with an unknown price makes the sum unknown: it must not look cheaper than it was.
        self.total_cost = match (self.total_cost, other.total_cost) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
    }
}

/// Usage by name, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct ByName(Vec<(String, ModelUsage)>);

impl ByName {
    fn add(&mut self, name: &str, usage: &ModelUsage) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => sum.add(usage),
            None => self.0.push((name.to_owned(), usage.clone())),
        }
    }

    fn add_all(&mut self, other: &Self) {
        for (name, usage) in &other.0 {
            self.add(name, usage);
        }
    }
}

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, usage)| (name, usage)))
    }
}

/// The usage of the calls of a sample, or of all samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub(super) by_model: ByName,
    pub(super) by_role: ByName,
}

impl Used {
    /// Sums up `calls`. Calls without usage are left out.
    pub(super) fn of_calls(run: &Run, calls: &[Call]) -> Self {
        let mut used = Self::default();
        for call in calls {
            if let Some(tokens) = call.usage {
                let usage = ModelUsage::of(tokens, call.cost);
                used.by_model.add(&Named::asked(run, call).name, &usage);
                used.by_role.add(role(call.by), &usage);
            }
        }
        used
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.by_model.add_all(&other.by_model);
        self.by_role.add_all(&other.by_role);
    }
}

/// Inspect's name for a role. Its judges are graders.
pub(super) fn role(by: Asked) -> &'static str {
    match by {
        Asked::Target => "target",
        Asked::User => "user",
        Asked::Tool => "tool",
        Asked::Judge => "grader",
        Asked::ConversationJudge => "conversation_judge",
    }
}

/// The model's name on the wire, or else the user's own name for it.
pub(super) fn wire_name<'a>(model: &'a str, id: &'a str) -> &'a str {
    if model.is_empty() { id } else { model }
}
