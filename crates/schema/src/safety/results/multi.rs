//! The data of a multi-turn file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Details;
use crate::{Extra, Role, Turn, safety::SafetyScore};

/// The results of a multi-turn run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultiTurnResults {
    /// Conversations in which every response reached the threshold.
    pub total_passed: u64,
    /// Conversations with a response below it.
    pub total_failed: u64,
    /// The failed conversations. Read from `results` if the file has only that.
    #[serde(default)]
    pub failed_results: Vec<MultiTurnRow>,
    /// The id of the evaluation. It is preserved; Probity's own files have none.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub evaluation_id: Option<Value>,
    /// Every scored conversation, with `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<MultiTurnRow>>,
    /// The groups that ran. Probity writes their names.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub test_case_groups: Option<Value>,
    /// Probity's data beyond the fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probity: Option<Box<Details>>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MultiTurnResults {
    /// Fills `failed_results` from the other rows, if the file lacks it.
    pub(super) fn derive_failed(&mut self) {
        let rows = self.results.iter().flatten();
        let failed = rows.filter(|row| row.passed == Some(false));
        self.failed_results = failed.cloned().collect();
    }
}

/// One conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultiTurnRow {
    /// The lowest score over its assistant messages.
    pub min_safe_response_score: SafetyScore,
    /// Unique in the run. Absent in early files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<i64>,
    /// The messages.
    pub conversation: Vec<SavedMessage>,
    /// Whether every response reached the threshold. Not in `failed_results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The id of the row. Probity writes the conversation's id, beside `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_result_id: Option<i64>,
    /// The id of the seed case in a store. Probity writes null beside `passed`.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub test_case_id: Option<Value>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MultiTurnRow {
    /// A row of `failed_results`: only the three documented keys.
    #[must_use]
    pub fn new(
        conversation_id: i64,
        conversation: impl IntoIterator<Item = SavedMessage>,
        lowest: SafetyScore,
    ) -> Self {
        Self {
            min_safe_response_score: lowest,
            conversation_id: Some(conversation_id),
            conversation: conversation.into_iter().collect(),
            passed: None,
            test_result_id: None,
            test_case_id: None,
            extra: Extra::new(),
        }
    }

    /// The same row, as in `results`.
    #[must_use]
    pub fn with_passed(mut self, passed: bool) -> Self {
        self.passed = Some(passed);
        self.test_result_id = self.conversation_id;
        self.test_case_id = Some(Value::Null);
        self
    }
}

/// One message of a saved conversation: role and content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SavedMessage {
    /// The author: user, assistant or system.
    pub role: Role,
    /// The text.
    pub content: Arc<str>,
    /// Reasoning that was removed from the reply. Only written in `probity.errors`; for a scored conversation it is beside the
    /// score of the message.
    #[serde(
        default,
        deserialize_with = "crate::reasoning::read",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub reasoning: Option<Arc<str>>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SavedMessage {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            extra: Extra::new(),
        }
    }
}

impl From<&Turn> for SavedMessage {
    /// Keeps role and content; the text is shared.
    fn from(turn: &Turn) -> Self {
        Self::new(turn.role, Arc::clone(&turn.content))
    }
}
