//! The parsed part of a conversation row.

use std::fmt;

use schema::{
    Conversation, FinishReason, ModelId, Realism, Role, SimulatorCheck, SimulatorFault,
    reasoning::has_unopened_tag, text::is_blank,
};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};

/// The fields that identify the conversation of a row, in `conversations.json` and in `scores.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct ConversationKey {
    /// The scenario.
    pub id: String,
    #[serde(default)]
    conv_id: Option<String>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    older_sample: Option<u32>,
}

impl ConversationKey {
    /// The id of the conversation with `target`: the row's own, otherwise the one that readers derive.
    #[must_use]
    pub fn conversation(&self, target: &ModelId) -> String {
        let sample = self.sample.or(self.older_sample);
        Self::id_of(self.conv_id.as_deref(), &self.id, target, sample)
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

/// The part of a conversation row that statistics need; the texts themselves are skipped.
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
    tool_calls: Option<Vec<IgnoredAny>>,
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

    /// Whether it calls tools.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.tool_calls.as_ref().is_some_and(|all| !all.is_empty())
    }

    /// Whether it has reasoning of its own.
    #[must_use]
    pub fn has_reasoning(&self) -> bool {
        self.reasoning.is_some()
    }
}

/// The facts about a text that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFacts {
    /// Whether it says nothing.
    pub blank: bool,
    /// Whether it has a closing tag of reasoning without an opening one.
    pub unopened: bool,
}

impl TextFacts {
    /// The facts about `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            blank: is_blank(text),
            unopened: has_unopened_tag(text),
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
