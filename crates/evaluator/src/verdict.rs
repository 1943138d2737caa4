//! How a judge's reply is read.

use std::sync::{Arc, LazyLock};

use schema::{ResponseFormat, reply};
use serde_json::{Value, json};

/// What a judge decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the behaviour is in the transcript.
    pub present: bool,
    /// Why. Never blank.
    pub justification: String,
}

/// Reads a reply strictly: one JSON object, `present` a boolean, `justification` a text that is not blank. Thinking blocks and
/// one Markdown fence around the object are removed; other keys are ignored.
///
/// ```
/// let verdict = evaluator::verdict::parse(r#"{"present": false, "justification": "Nothing of the sort."}"#).unwrap();
/// assert!(!verdict.present);
/// let reason = evaluator::verdict::parse(r#"{"present": "false", "justification": "Nothing."}"#).unwrap_err();
/// assert_eq!(reason, r#""present" is a string, not true or false"#);
/// ```
///
/// # Errors
/// What is wrong, in words that can be sent back to the judge.
pub fn parse(reply: &str) -> Result<Verdict, String> {
    let object = reply::json_object(reply)?;
    Ok(Verdict {
        present: reply::boolean(&object, "present")?,
        justification: reply::text(&object, "justification")?.to_owned(),
    })
}

/// The form that a judge's reply is asked for in.
#[must_use]
pub fn response_format() -> ResponseFormat {
    static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
        Arc::new(json!({
            "type": "object",
            "properties": {
                "present": {"type": "boolean"},
                "justification": {"type": "string"},
            },
            "required": ["present", "justification"],
            "additionalProperties": false,
        }))
    });
    static NAME: LazyLock<Arc<str>> = LazyLock::new(|| "verdict".into());
    ResponseFormat::JsonSchema {
        name: Arc::clone(&NAME),
        schema: Arc::clone(&SCHEMA),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_verdict_is_one() {
        for (reply, reason) in [
            ("", "empty"),
            ("The behaviour is present.", "starts with"),
            ("{\"justification\": \"x\"}", "\"present\" is missing"),
            ("{\"present\": true}", "\"justification\" is missing"),
            (
                "{\"present\": true, \"justification\": \"  \"}",
                "\"justification\" is empty",
            ),
            ("{\"present\": true, \"justification\": 3}", "a number"),
            ("{\"present\": 1, \"justification\": \"x\"}", "a number"),
            ("{\"present\": null, \"justification\": \"x\"}", "null"),
            (
                "{\"present\": true, \"present\": false, \"justification\": \"x\"}",
                "twice",
            ),
            (
                "{\"present\": true, \"justification\": \"it was cut",
                "cut off",
            ),
        ] {
            let error = parse(reply).unwrap_err();
            assert!(error.contains(reason), "{reply}: {error}");
        }
    }

    #[test]
    fn thinking_fences_and_other_keys_do_no_harm() {
        let reply = "<think>hm</think>\n```json\n{\"present\": true, \"justification\": \" so \", \"confidence\": 1}\n```";
        let expected = Verdict {
            present: true,
            justification: "so".into(),
        };
        assert_eq!(parse(reply), Ok(expected));
    }
}
