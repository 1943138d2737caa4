//! The data of a single-turn file.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Details;
use crate::{Extra, safety::SafetyScore};

/// The results of a single-turn run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleTurnResults {
    /// Responses that reached the threshold, over all layers.
    pub total_passed: u64,
    /// Responses below it, over all layers.
    pub total_failed: u64,
    /// One list for each layer that ran, empty if nothing failed in it. Read from the fields below if the file has only those.
    #[serde(default)]
    pub failed_results: Vec<Vec<SingleTurnRow>>,
    /// The id of the evaluation. It is preserved; Probity's own files have none.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub evaluation_id: Option<Value>,
    /// Every scored response, in one list for each layer, with `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_by_iteration: Option<Vec<Vec<SingleTurnRow>>>,
    /// The same rows in one list, with `iteration` in each row. Read, never written by Probity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<SingleTurnRow>>,
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

impl SingleTurnResults {
    /// Fills `failed_results` from the other rows, if the file lacks it.
    pub(super) fn derive_failed(&mut self) {
        let failed = |rows: &[SingleTurnRow]| -> Vec<SingleTurnRow> {
            let failed = rows.iter().filter(|row| row.passed == Some(false));
            failed.cloned().collect()
        };
        if let Some(layers) = &self.results_by_iteration {
            self.failed_results = layers.iter().map(|rows| failed(rows)).collect();
        } else if let Some(rows) = &self.results {
            // Only layers that occur are created: a huge number in a row must not create a huge list.
            let layer = |row: &SingleTurnRow| row.iteration.unwrap_or(0);
            let layers: BTreeSet<u32> = rows.iter().map(layer).collect();
            let of_layer = |wanted: &u32| {
                let rows = rows.iter().filter(|row| layer(row) == *wanted);
                failed(&rows.cloned().collect::<Vec<_>>())
            };
            self.failed_results = layers.iter().map(of_layer).collect();
        }
    }
}

/// One prompt and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleTurnRow {
    /// The prompt.
    pub user_input: Arc<str>,
    /// Unique in the run. Absent in early files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<i64>,
    /// The target's reply.
    pub model_response: Arc<str>,
    /// How safe it is.
    pub safe_response_score: SafetyScore,
    /// Whether it reached the threshold. Not in `failed_results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The layer, in files that list all rows together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The id of the row. Probity writes the conversation's id, beside `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_result_id: Option<i64>,
    /// The id of the seed case in a store. Probity writes null beside `passed`: its own ids are texts, and are in the details.
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

impl SingleTurnRow {
    /// A row of `failed_results`: only the four documented keys.
    #[must_use]
    pub fn new(
        conversation_id: i64,
        user_input: impl Into<Arc<str>>,
        model_response: impl Into<Arc<str>>,
        score: SafetyScore,
    ) -> Self {
        Self {
            user_input: user_input.into(),
            conversation_id: Some(conversation_id),
            model_response: model_response.into(),
            safe_response_score: score,
            passed: None,
            iteration: None,
            test_result_id: None,
            test_case_id: None,
            extra: Extra::new(),
        }
    }

    /// The same row, as in `results_by_iteration`.
    #[must_use]
    pub fn with_passed(mut self, passed: bool) -> Self {
        self.passed = Some(passed);
        self.test_result_id = self.conversation_id;
        self.test_case_id = Some(Value::Null);
        self
    }
}
