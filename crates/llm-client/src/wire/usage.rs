//! The tokens and the cost of a reply, as the endpoint states them.

use schema::Usage;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

/// `usage` in its common forms: OpenAI's, and forms with `input_tokens` and `output_tokens`. Any other form is unknown, and not
/// an error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Billed {
    pub(super) usage: Option<Usage>,
    /// The cost in dollars, if the endpoint states it.
    pub(super) cost: Option<f64>,
}

impl<'de> Deserialize<'de> for Billed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A value that cannot be parsed, such as a number that is too large, counts as unknown.
        let raw = <&RawValue>::deserialize(deserializer)?;
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        Ok(Self {
            usage: tokens(&value),
            cost: cost(&value["cost"]),
        })
    }
}

/// The tokens of a `usage` object in any of these forms; `None` if they are not known.
pub(crate) fn usage_of(usage: &Value) -> Option<Usage> {
    tokens(usage)
}

/// The cost in dollars, from a number or a string with one.
fn cost(value: &Value) -> Option<f64> {
    let cost = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    (cost.is_finite() && cost >= 0.0).then_some(cost)
}

/// A number that is not a count of tokens.
struct NoCount;

/// The tokens of `usage`. An invalid count makes all of them unknown.
fn tokens(usage: &Value) -> Option<Usage> {
    read_tokens(usage).unwrap_or_default()
}

fn read_tokens(usage: &Value) -> Result<Option<Usage>, NoCount> {
    let of = |name: &str| count(&usage[name]);
    let detail = |object: &str, name: &str| count(&usage[object][name]);
    let output = of("completion_tokens")?.or(of("output_tokens")?);
    let reasoning = detail("completion_tokens_details", "reasoning_tokens")?
        .or(detail("output_tokens_details", "reasoning_tokens")?);
    let cache_read = of("cache_read_input_tokens")?;
    let cache_created = of("cache_creation_input_tokens")?;
    let cache_written = cache_created
        .or(detail("prompt_tokens_details", "cache_write_tokens")?)
        .or(detail("input_tokens_details", "cache_write_tokens")?)
        .unwrap_or(0);
    let cached = detail("prompt_tokens_details", "cached_tokens")?
        .or(detail("input_tokens_details", "cached_tokens")?)
        .or(of("prompt_cache_hit_tokens")?)
        .or(cache_read);
    // Anthropic does not include the tokens read from or written to its cache in the other input; OpenAI does.
    let beside = cache_read.unwrap_or(0) + cache_created.unwrap_or(0);
    let input = match (of("prompt_tokens")?, of("input_tokens")?) {
        (Some(prompt), _) => Some(prompt),
        (None, other) => other.map(|input| input + beside),
    };
    if input.is_none() && output.is_none() {
        return Ok(None);
    }
    let input_tokens = input.unwrap_or(0);
    let cached_input_tokens = cached.unwrap_or(0).min(input_tokens);
    Ok(Some(Usage {
        input_tokens,
        cached_input_tokens,
        // At most the input that was not read from the cache.
        cache_write_tokens: cache_written.min(input_tokens - cached_input_tokens),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: reasoning.unwrap_or(0),
    }))
}

/// No call has more tokens. With this limit the sum over any realistic number of calls does not overflow.
const MOST_TOKENS: f64 = u32::MAX as f64;

/// A count of tokens: a whole number, which some endpoints write as a float. `None`: not a number.
fn count(value: &Value) -> Result<Option<u64>, NoCount> {
    let Some(number) = value.as_f64() else {
        return Ok(None);
    };
    if !(0.0..=MOST_TOKENS).contains(&number) || number.fract() != 0.0 {
        return Err(NoCount);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number within range"
    )]
    Ok(Some(number as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_odd_usage_nothing_is_known() {
        for text in ["[1]", "5", "null", r#"{"prompt_tokens":1e999}"#] {
            let billed: Billed = serde_json::from_str(text).unwrap();
            assert_eq!(billed, Billed::default(), "{text}");
        }
        let twice = r#"{"prompt_tokens":1,"x":"\ud800","prompt_tokens":2}"#;
        let billed: Billed = serde_json::from_str(twice).unwrap();
        assert_eq!(billed.usage, None);
    }

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
            (
                json!({"prompt_tokens": 3000, "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 1900}}),
                3000,
                1024,
                1900,
            ),
            (
                json!({"input_tokens": 3000, "output_tokens": 5,
                    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 2900}}),
                3000,
                0,
                2900,
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
            // An invalid count of tokens is neither read as another number nor as zero.
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
