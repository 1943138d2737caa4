//! The parsed part of a conversation row.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use schema::{
    Conversation, FinishReason, ModelId, PhaseCost, Realism, Role, SimulatorCheck, SimulatorFault,
    ToolCall, reasoning::has_unopened_tag, text::is_blank,
};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};

/// The fields that identify a row, in `conversations.json` and in `scores.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct ConversationKey {
    /// The scenario.
    pub id: String,
    /// The metric; rows of other programs may lack it.
    #[serde(default)]
    pub metric_id: Option<String>,
    #[serde(default)]
    conv_id: Option<String>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    older_sample: Option<u32>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl ConversationKey {
    /// Whether the row says that a call or the conversation failed.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// The id of the conversation with `target`: the row's own, otherwise the one that readers derive.
    #[must_use]
    pub fn conversation(&self, target: &ModelId) -> String {
        let sample = self.sample.or(self.older_sample);
        Self::id_of(self.conv_id.as_deref(), &self.id, target, sample)
    }

    /// The repetition of the scenario.
    #[must_use]
    pub fn sample(&self) -> u32 {
        self.sample.or(self.older_sample).unwrap_or(0)
    }

    /// The id of the conversation that a row with these fields belongs to.
    #[must_use]
    pub fn id_of(
        conv_id: Option<&str>,
        scenario: &str,
        target: &ModelId,
        sample: Option<u32>,
    ) -> String {
        match conv_id.filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => Conversation::make_id(scenario, target, sample.unwrap_or(0)),
        }
    }
}

/// The part of a conversation row that statistics and checks need; the texts themselves are skipped.
#[derive(Clone, Debug, Deserialize)]
pub struct ConversationRow {
    /// The scenario.
    #[serde(default)]
    pub id: String,
    /// The metric of the scenario.
    pub metric_id: String,
    /// The conversation; empty in rows of older generations.
    #[serde(default)]
    pub conv_id: String,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    older_sample: Option<u32>,
    /// Whether the conversation failed.
    #[serde(default)]
    pub error: Option<IgnoredAny>,
    /// What its calls used.
    #[serde(rename = "_usage", default)]
    pub usage: Option<Readable<PhaseCost>>,
    /// Where the simulated user left its role.
    #[serde(rename = "_simulator_faults", default)]
    pub simulator_faults: Option<Vec<SimulatorFault>>,
    /// What a judge of the simulated user found, in a conversation of the sample.
    #[serde(rename = "_simulator_check", default)]
    pub simulator_check: Option<SimulatorCheck>,
    /// How realistic judges found it.
    #[serde(rename = "_realism", default)]
    pub realism: Option<Realism>,
    /// The messages.
    #[serde(default)]
    pub transcript: Option<Vec<MessageRow>>,
}

impl ConversationRow {
    /// The id of the conversation, as [`ConversationKey::conversation`] returns it.
    #[must_use]
    pub fn conversation(&self, target: &ModelId) -> String {
        let sample = self.sample.or(self.older_sample);
        ConversationKey::id_of(Some(&self.conv_id), &self.id, target, sample)
    }

    /// The repetition of the scenario.
    #[must_use]
    pub fn sample(&self) -> u32 {
        self.sample.or(self.older_sample).unwrap_or(0)
    }

    /// The keys of the target's replies; see [`reply_key`].
    pub fn reply_keys(&self) -> impl Iterator<Item = u64> {
        let messages = self.transcript.iter().flatten();
        let replies = messages.filter(|message| message.role == Role::Assistant);
        replies.map(MessageRow::reply_key)
    }
}

/// A key of a reply by its text and its calls of tools. Ids of calls are left out, because the simulator may replace the model's id of a
/// call. Keys are compared within one process only.
#[must_use]
pub fn reply_key(text: &str, calls: &[ToolCall]) -> u64 {
    key_of(hash_of(text), calls.iter())
}

fn key_of<'a>(text: u64, calls: impl Iterator<Item = &'a ToolCall>) -> u64 {
    let named: Vec<_> = calls.map(|call| (&*call.name, &*call.arguments)).collect();
    hash_of((text, named))
}

fn hash_of(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// The part of a message that statistics need.
#[derive(Clone, Debug, Deserialize)]
pub struct MessageRow {
    /// Its author.
    pub role: Role,
    #[serde(default)]
    content: Option<TextFacts>,
    #[serde(default)]
    reasoning: Option<IgnoredAny>,
    #[serde(default)]
    tool_calls: Option<Vec<Readable<ToolCall>>>,
    #[serde(default)]
    own_step: Option<bool>,
    /// Why it ended, if not normally.
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
}

impl MessageRow {
    /// The facts about its text.
    #[must_use]
    pub fn text(&self) -> TextFacts {
        self.content.unwrap_or_else(|| TextFacts::new(""))
    }

    /// Whether it is a reply of the system under test: the target was called for it.
    #[must_use]
    pub fn is_reply(&self) -> bool {
        self.role == Role::Assistant && self.own_step != Some(true)
    }

    /// Whether it calls tools.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.tool_calls.as_ref().is_some_and(|all| !all.is_empty())
    }

    fn reply_key(&self) -> u64 {
        let calls = self
            .tool_calls
            .iter()
            .flatten()
            .filter_map(|call| match call {
                Readable::Known(call) => Some(call),
                Readable::Other(_) => None,
            });
        key_of(self.text().hash, calls)
    }

    /// Whether it has reasoning of its own.
    #[must_use]
    pub fn has_reasoning(&self) -> bool {
        self.reasoning.is_some()
    }
}

/// A value that other programs may write in a form of their own. The row counts all the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Readable<T> {
    /// In the form that Probity writes.
    Known(T),
    /// In another one.
    Other(IgnoredAny),
}

/// The facts about a text that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextFacts {
    /// Whether it says nothing.
    pub blank: bool,
    /// Whether it has a closing tag of reasoning without an opening one.
    pub unopened: bool,
    hash: u64,
}

impl TextFacts {
    /// The facts about `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            blank: is_blank(text),
            unopened: has_unopened_tag(text),
            hash: hash_of(text),
        }
    }
}

impl<'de> Deserialize<'de> for TextFacts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = TextFacts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextFacts, E> {
                Ok(TextFacts::new(text))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn keys(calls: &Value) -> Vec<u64> {
        let reply = json!({"role": "assistant", "content": "Paid.", "tool_calls": calls});
        let question = json!({"role": "user", "content": "Pay."});
        let row = json!({"id": "s", "metric_id": "m01", "transcript": [question, reply]});
        let row: ConversationRow = serde_json::from_str(&row.to_string()).unwrap();
        let messages = row.transcript.as_ref().unwrap();
        assert_eq!(
            messages[1].has_calls(),
            calls.as_array().is_some_and(|calls| !calls.is_empty())
        );
        row.reply_keys().collect()
    }

    #[test]
    fn replies_are_known_by_their_text_and_calls() {
        let call =
            json!({"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}});
        let same = json!({"id": "2", "function": {"name": "pay", "arguments": {}}});
        let parsed: ToolCall = serde_json::from_value(call.clone()).unwrap();
        assert_eq!(keys(&json!([call])), [reply_key("Paid.", &[parsed])]);
        assert_eq!(keys(&json!([call])), keys(&json!([same])));
        assert_eq!(keys(&Value::Null), [reply_key("Paid.", &[])]);
        assert_ne!(keys(&json!([call])), keys(&json!([])));
    }

    #[test]
    fn usage_in_a_form_of_other_programs_costs_no_row() {
        let read = |usage: Value| -> ConversationRow {
            let row = json!({"id": "s", "metric_id": "m01", "_usage": usage});
            serde_json::from_str(&row.to_string()).unwrap()
        };
        assert!(read(Value::Null).usage.is_none());
        let other = read(json!("12 tokens")).usage;
        assert!(matches!(other, Some(Readable::Other(_))));
        let known = json!(PhaseCost::default());
        assert!(matches!(read(known).usage, Some(Readable::Known(_))));
    }

    #[test]
    fn calls_in_a_form_of_other_programs_count() {
        for call in [
            json!({"name": "pay", "args": {}}),
            json!("pay"),
            json!(null),
        ] {
            assert_eq!(keys(&json!([call])).len(), 1, "{call}");
        }
    }
}
