//! Labels of people: `runs/<model-id>/labels.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Extra, Turn, text::hex};

/// One row of `labels.json`: one person's verdict on one metric in one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanLabel {
    /// The conversation, as in `scores.json`.
    #[schemars(length(min = 1))]
    pub conv_id: String,
    /// The metric, as in `scores.json`.
    #[schemars(length(min = 1))]
    pub metric_id: String,
    /// Whether the row passes according to this person: for a negative metric, whether the behaviour is absent. Null: unclear.
    #[serde(deserialize_with = "Option::deserialize")]
    pub passed: Option<bool>,
    /// The person who labelled the row: a name, initials, any word that is the same for all labels of one person.
    #[schemars(length(min = 1))]
    pub labeller: String,
    /// The person's note on the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The [digest](transcript_digest) of the transcript that was read; absent if unknown.
    #[serde(
        rename = "_transcript",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub transcript: Option<String>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl HumanLabel {
    /// A label without a note and without a digest of its transcript.
    #[must_use]
    pub fn new(
        conv_id: impl Into<String>,
        metric_id: impl Into<String>,
        labeller: impl Into<String>,
        passed: Option<bool>,
    ) -> Self {
        Self {
            conv_id: conv_id.into(),
            metric_id: metric_id.into(),
            passed,
            labeller: labeller.into(),
            note: None,
            transcript: None,
            extra: Extra::new(),
        }
    }

    /// Whether both labels are from the same person on the same row.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        self.conv_id == other.conv_id
            && self.metric_id == other.metric_id
            && self.labeller == other.labeller
    }
}

/// The digest that a label keeps of the transcript: the first 16 hexadecimal digits of the SHA-256 of the compact JSON list of its
/// messages. A message is `[role, content]`, and one that calls tools `[role, content, [[name, arguments], ...]]`.
///
/// ```
/// use schema::{Role, Turn, transcript_digest};
///
/// let transcript = [Turn::new(Role::User, "Hi \"you\""), Turn::new(Role::Assistant, "Hello é")];
/// // The digest of [["user","Hi \"you\""],["assistant","Hello é"]]
/// assert_eq!(transcript_digest(&transcript), "8923872e13490407");
/// ```
#[must_use]
pub fn transcript_digest(transcript: &[Turn]) -> String {
    let messages: Vec<Value> = transcript.iter().map(message).collect();
    let text = Value::Array(messages).to_string();
    let mut digest = hex(&Sha256::digest(text));
    digest.truncate(16);
    digest
}

fn message(turn: &Turn) -> Value {
    let calls: Vec<Value> = turn
        .tool_calls
        .iter()
        .map(|call| json!([call.name, call.arguments]))
        .collect();
    match calls.is_empty() {
        true => json!([turn.role, &*turn.content]),
        false => json!([turn.role, &*turn.content, calls]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, ToolCall};

    #[test]
    fn tool_calls_are_part_of_the_digest_and_reasoning_is_not() {
        let said = |content: &str| Turn::new(Role::Assistant, content);
        let calls = |arguments: &str| Turn {
            tool_calls: vec![ToolCall {
                id: "c1".to_owned(),
                name: "pay".to_owned(),
                arguments: arguments.to_owned(),
            }],
            ..said("")
        };
        let digest = |turn: Turn| transcript_digest(&[turn]);
        assert_ne!(digest(said("")), digest(calls("{}")));
        assert_ne!(digest(calls("{}")), digest(calls("{\"sum\":2}")));
        let thought = Turn {
            reasoning: Some("so".into()),
            ..said("yes")
        };
        assert_eq!(digest(thought), digest(said("yes")));
    }
}
