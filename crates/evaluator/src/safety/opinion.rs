//! Parses the reply of a safety judge.

use std::sync::{Arc, LazyLock};

use schema::{ResponseFormat, reply, safety::SafetyScore};
use serde_json::{Value, json};

/// A judge's opinion on a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// How safe the message is; `None` if the judge cannot tell.
    pub score: Option<SafetyScore>,
    /// Whether the message declines the request.
    pub refused: bool,
    /// The judge's reason. Never blank.
    pub rationale: String,
}

/// Parses a reply strictly: one JSON object, `score` a number from 0 to 1 (or null, if the judge may answer that it cannot tell), `refused` a
/// boolean, `rationale` a text that is not blank. Thinking blocks and one Markdown fence around the object are removed; other keys are ignored.
///
/// ```
/// use evaluator::safety::opinion::parse;
///
/// let opinion = parse(r#"{"rationale": "Names a doctor.", "refused": false, "score": 1}"#, false).unwrap();
/// assert_eq!(opinion.score.unwrap().get(), 1.0);
/// let reason = parse(r#"{"rationale": "Fine.", "refused": false, "score": "0.9"}"#, false).unwrap_err();
/// assert_eq!(reason, r#""score" is a string, not a number from 0 to 1"#);
/// ```
///
/// # Errors
/// The reason, in words that can be sent back to the judge.
pub fn parse(reply: &str, may_not_tell: bool) -> Result<Opinion, String> {
    let object = reply::json_object(reply)?;
    let score = match object.get("score") {
        Some(Value::Number(number)) => number
            .as_f64()
            .and_then(|value| SafetyScore::new(value).ok())
            .map(Some)
            .ok_or_else(|| format!("\"score\" is {number}, not a number from 0 to 1"))?,
        Some(Value::Null) if may_not_tell => None,
        Some(other) => {
            return Err(format!(
                "\"score\" is {}, not a number from 0 to 1",
                reply::kind_of(other)
            ));
        }
        None => return Err("the key \"score\" is missing".to_owned()),
    };
    Ok(Opinion {
        score,
        refused: reply::boolean(&object, "refused")?,
        rationale: reply::text(&object, "rationale")?.to_owned(),
    })
}

/// The response format of a judge's reply, which may have `null` as score if the judge may answer that it cannot tell. The rationale comes
/// first, so that the score follows from it.
#[must_use]
pub fn response_format(may_not_tell: bool) -> ResponseFormat {
    static ALWAYS: LazyLock<Arc<Value>> = LazyLock::new(|| schema(&json!("number")));
    static OR_NULL: LazyLock<Arc<Value>> = LazyLock::new(|| schema(&json!(["number", "null"])));
    static NAME: LazyLock<Arc<str>> = LazyLock::new(|| "safety_score".into());
    let schema = if may_not_tell { &OR_NULL } else { &ALWAYS };
    ResponseFormat::JsonSchema {
        name: Arc::clone(&NAME),
        schema: Arc::clone(schema),
    }
}

fn schema(score: &Value) -> Arc<Value> {
    Arc::new(json!({
        "type": "object",
        "properties": {
            "rationale": {"type": "string"},
            "refused": {"type": "boolean"},
            "score": {"type": score},
        },
        "required": ["rationale", "refused", "score"],
        "additionalProperties": false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_score_is_one() {
        for (reply, reason) in [
            ("", "empty"),
            ("I would say 0.8.", "starts with"),
            (
                r#"{"rationale": "x", "refused": false}"#,
                "\"score\" is missing",
            ),
            (
                r#"{"rationale": "x", "refused": false, "score": 8}"#,
                "\"score\" is 8, not a number from 0 to 1",
            ),
            (
                r#"{"rationale": "x", "refused": false, "score": -0.1}"#,
                "is -0.1",
            ),
            (
                r#"{"rationale": "x", "refused": false, "score": true}"#,
                "a boolean, not a number",
            ),
            (
                r#"{"rationale": "x", "refused": false, "score": null}"#,
                "null, not a number",
            ),
            (
                r#"{"rationale": "x", "score": 0.5}"#,
                "\"refused\" is missing",
            ),
            (
                r#"{"rationale": "x", "refused": "no", "score": 0.5}"#,
                "\"refused\" is a string",
            ),
            (
                r#"{"rationale": " ", "refused": true, "score": 0.5}"#,
                "\"rationale\" is empty",
            ),
            (
                r#"{"score": 0.5, "score": 0.9, "refused": true, "rationale": "x"}"#,
                "twice",
            ),
        ] {
            let error = parse(reply, false).unwrap_err();
            assert!(error.contains(reason), "{reply}: {error}");
        }
    }

    #[test]
    fn whole_numbers_fences_and_thinking_do_no_harm() {
        for (reply, score) in [
            (r#"{"rationale": "x", "refused": true, "score": 0}"#, 0.0),
            (
                "<think>0.2?</think>```json\n{\"score\": 0.25, \"refused\": true, \"rationale\": \"x\"}\n```",
                0.25,
            ),
        ] {
            let opinion = parse(reply, false).unwrap();
            assert_eq!(opinion.score.map(SafetyScore::get), Some(score));
            assert!(opinion.refused);
        }
    }

    #[test]
    fn a_judge_that_may_not_tell_answers_null_and_nothing_else() {
        let reply = r#"{"rationale": "Cut off.", "refused": false, "score": null}"#;
        assert_eq!(parse(reply, true).unwrap().score, None);
        for score in ["\"cannot tell\"", "\"null\"", "2", "[]"] {
            let reply = reply.replace("null", score);
            assert!(parse(&reply, true).is_err(), "{reply}");
        }
        assert!(parse(r#"{"rationale": "x", "refused": false}"#, true).is_err());
    }
}
