//! Labels of people: `runs/<model-id>/labels.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Extra;

/// One row of `labels.json`: one person's verdict on one metric in one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanLabel {
    /// The conversation, as in `scores.json`.
    #[schemars(length(min = 1))]
    pub conv_id: String,
    /// The metric, as in `scores.json`.
    #[schemars(length(min = 1))]
    pub metric_id: String,
    /// Whether the row passes by this person: of a negative metric, whether the behaviour is absent. Null: unclear.
    #[serde(deserialize_with = "Option::deserialize")]
    pub passed: Option<bool>,
    /// Who labelled the row: a name, initials, any word that is the same for all labels of one person.
    #[schemars(length(min = 1))]
    pub labeller: String,
    /// What the person wrote beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
