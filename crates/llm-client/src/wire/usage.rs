//! What a reply says of its tokens and its cost.

use schema::Usage;
use serde_json::Value;

/// Reads `usage` in its common shapes: OpenAI's, and those with `input_tokens` and `output_tokens`. The second part is the
/// cost in dollars, where the endpoint states one.
pub(super) fn usage(value: &Value) -> (Option<Usage>, Option<f64>) {
    let cost = value
        .get("cost")
        .and_then(number)
        .filter(|cost| cost.is_finite() && *cost >= 0.0);
    let prompt = count(value, &["prompt_tokens"]);
    let output = count(value, &["completion_tokens"]).or_else(|| count(value, &["output_tokens"]));
    let openai_cached = count(value, &["prompt_tokens_details", "cached_tokens"])
        .or_else(|| count(value, &["input_tokens_details", "cached_tokens"]))
        .or_else(|| count(value, &["prompt_cache_hit_tokens"]));
    // Anthropic counts what it read from or wrote to its cache beside the other input, not among it.
    let read = count(value, &["cache_read_input_tokens"]);
    let written = count(value, &["cache_creation_input_tokens"]);
    let (input, cached) = match (prompt, count(value, &["input_tokens"])) {
        (Some(prompt), _) => (Some(prompt), openai_cached.or(read)),
        (None, Some(fresh)) => {
            let beside = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
            (Some(fresh.saturating_add(beside)), openai_cached.or(read))
        }
        (None, None) => (None, None),
    };
    if input.is_none() && output.is_none() {
        return (None, cost);
    }
    let input_tokens = input.unwrap_or(0);
    let usage = Usage {
        input_tokens,
        cached_input_tokens: cached.unwrap_or(0).min(input_tokens),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: count(value, &["completion_tokens_details", "reasoning_tokens"])
            .or_else(|| count(value, &["output_tokens_details", "reasoning_tokens"]))
            .unwrap_or(0),
    };
    (Some(usage), cost)
}

/// The whole number at `path`. Some endpoints write it as a float.
fn count(value: &Value, path: &[&str]) -> Option<u64> {
    let value = path.iter().try_fold(value, |value, key| value.get(key))?;
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number within range"
        )]
        ((0.0..9e15).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    })
}

/// A number, or a string that holds one.
fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokens(input: u64, cached: u64, output: u64, reasoning: u64) -> Option<Usage> {
        Some(Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            reasoning_tokens: reasoning,
        })
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
        ] {
            assert_eq!(usage(&value), (expected, cost), "{value}");
        }
    }
}
