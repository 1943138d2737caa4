//! What a reply says of its tokens and its cost.

use std::fmt;

use schema::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// `usage` in its common shapes: OpenAI's, and those with `input_tokens` and `output_tokens`. Whatever else stands there tells
/// nothing, and is no error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Billed {
    pub(super) usage: Option<Usage>,
    /// Dollars, where the endpoint states them.
    pub(super) cost: Option<f64>,
}

/// The entries of `usage`.
#[derive(Default)]
struct Entries {
    cost: Option<f64>,
    prompt: Option<u64>,
    completion: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    prompt_details: Figure,
    input_details: Figure,
    completion_details: Figure,
    output_details: Figure,
    cache_hit: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    /// One of the counts is none: then nothing is known of the tokens.
    is_no_count: bool,
}

/// The names of the entries. Of two with the same name the last counts.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    Cost,
    PromptTokens,
    CompletionTokens,
    InputTokens,
    OutputTokens,
    PromptTokensDetails,
    InputTokensDetails,
    CompletionTokensDetails,
    OutputTokensDetails,
    PromptCacheHitTokens,
    CacheReadInputTokens,
    CacheCreationInputTokens,
    #[serde(other)]
    Other,
}

impl Entries {
    fn billed(&self) -> Billed {
        let output = self.completion.or(self.output);
        let openai_cached = self
            .prompt_details
            .cached
            .or(self.input_details.cached)
            .or(self.cache_hit);
        let cached = openai_cached.or(self.cache_read);
        // Anthropic counts what it read from or wrote to its cache beside the other input, not among it.
        let input = self.prompt.or_else(|| {
            let beside = self
                .cache_read
                .unwrap_or(0)
                .saturating_add(self.cache_written.unwrap_or(0));
            Some(self.input?.saturating_add(beside))
        });
        let input_tokens = input.unwrap_or(0);
        let cached_input_tokens = cached.unwrap_or(0).min(input_tokens);
        let usage = Usage {
            input_tokens,
            cached_input_tokens,
            // Never more than the input that was not read from the cache.
            cache_write_tokens: self
                .cache_written
                .unwrap_or(0)
                .min(input_tokens - cached_input_tokens),
            output_tokens: output.unwrap_or(0),
            reasoning_tokens: self
                .completion_details
                .reasoning
                .or(self.output_details.reasoning)
                .unwrap_or(0),
        };
        Billed {
            usage: (!self.is_no_count && (input.is_some() || output.is_some())).then_some(usage),
            cost: self.cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
        }
    }
}

impl<'de> Deserialize<'de> for Billed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UsageVisitor)
    }
}

struct UsageVisitor;

impl<'de> Visitor<'de> for UsageVisitor {
    type Value = Billed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("token counts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Billed, A::Error> {
        let mut entries = Entries::default();
        while let Some(name) = map.next_key()? {
            if let Name::Other = name {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let figure: Figure = map.next_value()?;
            entries.is_no_count |= figure.is_no_count && !matches!(name, Name::Cost);
            match name {
                Name::Cost => entries.cost = figure.number,
                Name::PromptTokens => entries.prompt = figure.count,
                Name::CompletionTokens => entries.completion = figure.count,
                Name::InputTokens => entries.input = figure.count,
                Name::OutputTokens => entries.output = figure.count,
                Name::PromptTokensDetails => entries.prompt_details = figure,
                Name::InputTokensDetails => entries.input_details = figure,
                Name::CompletionTokensDetails => entries.completion_details = figure,
                Name::OutputTokensDetails => entries.output_details = figure,
                Name::PromptCacheHitTokens => entries.cache_hit = figure.count,
                Name::CacheReadInputTokens => entries.cache_read = figure.count,
                Name::CacheCreationInputTokens => entries.cache_written = figure.count,
                Name::Other => {}
            }
        }
        Ok(entries.billed())
    }

    fn visit_unit<E: Error>(self) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Billed, E> {
        Ok(Billed::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Billed, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Billed::default())
    }
}

/// More tokens are in no call. The sum over as many calls as anybody makes stays a number.
const MOST_TOKENS: f64 = u32::MAX as f64;

/// The value of an entry, as far as it tells anything.
#[derive(Clone, Copy, Debug, Default)]
struct Figure {
    /// A whole number. Some endpoints write it as a float.
    count: Option<u64>,
    /// A number that no count of tokens is: negative, a fraction, or too large.
    is_no_count: bool,
    /// A number, or a text that holds one.
    number: Option<f64>,
    /// `cached_tokens` of an object.
    cached: Option<u64>,
    /// `reasoning_tokens` of an object.
    reasoning: Option<u64>,
}

/// The names in an object of details.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Detail {
    CachedTokens,
    ReasoningTokens,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FigureVisitor)
    }
}

struct FigureVisitor;

impl<'de> Visitor<'de> for FigureVisitor {
    type Value = Figure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Figure, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Figure, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Figure, E> {
        Ok(Figure {
            count: whole(number),
            is_no_count: whole(number).is_none(),
            number: Some(number),
            ..Figure::default()
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Figure, E> {
        Ok(Figure {
            number: text.trim().parse().ok(),
            ..Figure::default()
        })
    }

    fn visit_unit<E: Error>(self) -> Result<Figure, E> {
        Ok(Figure::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Figure, E> {
        Ok(Figure::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Figure, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Figure::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Figure, A::Error> {
        let mut details = Figure::default();
        while let Some(name) = map.next_key()? {
            match name {
                Detail::CachedTokens | Detail::ReasoningTokens => {
                    let figure: Figure = map.next_value()?;
                    details.is_no_count |= figure.is_no_count;
                    match name {
                        Detail::CachedTokens => details.cached = figure.count,
                        _ => details.reasoning = figure.count,
                    }
                }
                Detail::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(details)
    }
}

/// `number` as a count of tokens, if it is one.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number within range"
    )]
    ((0.0..=MOST_TOKENS).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn usage(value: &Value) -> (Option<Usage>, Option<f64>) {
        let billed: Billed = serde_json::from_str(&value.to_string()).unwrap();
        (billed.usage, billed.cost)
    }

    fn tokens(input: u64, cached: u64, output: u64, reasoning: u64) -> Option<Usage> {
        Some(Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            reasoning_tokens: reasoning,
            ..Usage::default()
        })
    }

    #[test]
    fn what_the_endpoint_wrote_to_its_cache_is_counted() {
        for (value, input, read, written) in [
            (
                json!({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 30}),
                130,
                90,
                30,
            ),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 5, "cache_creation_input_tokens": 400}),
                100,
                0,
                100,
            ),
        ] {
            let used = usage(&value).0.unwrap();
            assert_eq!(
                (
                    used.input_tokens,
                    used.cached_input_tokens,
                    used.cache_write_tokens
                ),
                (input, read, written),
                "{value}"
            );
        }
    }

    #[test]
    fn usage_comes_in_several_shapes() {
        for (value, expected, cost) in [
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}),
                tokens(10, 0, 5, 0),
                None,
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25,
                    "prompt_tokens_details": {"cached_tokens": 4},
                    "completion_tokens_details": {"reasoning_tokens": 3}}),
                tokens(10, 4, 5, 3),
                Some(0.25),
            ),
            (
                json!({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}),
                tokens(100, 90, 5, 0),
                None,
            ),
            (
                json!({"prompt_tokens": 10.0, "completion_tokens": null, "prompt_tokens_details": null}),
                tokens(10, 0, 0, 0),
                None,
            ),
            (json!({}), None, None),
            (json!("none"), None, None),
            (json!({"cost": "0.5"}), None, Some(0.5)),
            (json!({"cost": -1}), None, None),
            (
                json!({"prompt_tokens": u32::MAX, "completion_tokens": 0}),
                tokens(u64::from(u32::MAX), 0, 0, 0),
                None,
            ),
            // What is no count of tokens is not taken for another number, nor for none.
            (
                json!({"prompt_tokens": u64::MAX, "completion_tokens": 5, "cost": 0.5}),
                None,
                Some(0.5),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": u64::MAX}),
                None,
                None,
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 1e300}),
                None,
                None,
            ),
            (
                json!({"prompt_tokens": -1, "completion_tokens": 5}),
                None,
                None,
            ),
            (
                json!({"prompt_tokens": 1.5, "completion_tokens": 5}),
                None,
                None,
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": u64::MAX}}),
                None,
                None,
            ),
        ] {
            assert_eq!(usage(&value), (expected, cost), "{value}");
        }
    }
}
