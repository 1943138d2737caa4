//! Score rows: `runs/<model-id>/scores.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Conversation, Extra, Metric, MetricType, ModelId, PhaseCost};

/// One row of `scores.json`: one metric judged in one conversation.
///
/// `present`, `passed` and `score` are either all known or all null. Null means that there is no usable verdict:
/// `justification` then says why, and no rate counts the row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The scenario's id.
    pub id: String,
    /// The metric judged.
    pub metric_id: String,
    /// Its name.
    #[serde(default)]
    pub metric_name: String,
    /// Its type.
    pub metric_type: MetricType,
    /// The system under test.
    pub target_model: ModelId,
    /// The conversation judged.
    #[serde(default)]
    pub conv_id: String,
    /// The judge's raw verdict: whether the behaviour of the definition is in the transcript.
    pub present: Option<bool>,
    /// Positive: as `present`; negative: the opposite.
    pub passed: Option<bool>,
    /// 1 when passed, 0 when not.
    #[serde(serialize_with = "whole_number")]
    pub score: Option<f64>,
    /// Why the judge decided so; without a verdict, why there is none.
    #[serde(default)]
    pub justification: String,
    /// Which repetition of the scenario, from 0.
    #[serde(alias = "_sample", default)]
    pub sample: u32,
    /// What failed, where the row has no verdict because a call or the conversation failed. A judge that answered without a
    /// usable verdict is an abstention and no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the calls for this row used and cost.
    #[serde(rename = "_usage", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<PhaseCost>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Score {
    /// A row with a verdict.
    #[must_use]
    pub fn judged(
        conversation: &Conversation,
        metric: &Metric,
        present: bool,
        justification: impl Into<String>,
    ) -> Self {
        let passed = metric.metric_type.passed(present);
        Self {
            present: Some(present),
            passed: Some(passed),
            score: Some(f64::from(u8::from(passed))),
            justification: justification.into(),
            ..Self::abstained(conversation, metric, "")
        }
    }

    /// A row without a verdict. `reason` says why.
    #[must_use]
    pub fn abstained(
        conversation: &Conversation,
        metric: &Metric,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            id: conversation.scenario.id.clone(),
            metric_id: metric.id.clone(),
            metric_name: metric.name.clone(),
            metric_type: metric.metric_type,
            target_model: conversation.target.id.clone(),
            conv_id: conversation.conv_id.clone(),
            present: None,
            passed: None,
            score: None,
            justification: reason.into(),
            sample: conversation.sample,
            error: None,
            usage: None,
            extra: Extra::new(),
        }
    }

    /// A row without a verdict because something failed: a call to the judge, or the conversation itself.
    #[must_use]
    pub fn failed(conversation: &Conversation, metric: &Metric, error: impl Into<String>) -> Self {
        let error = error.into();
        Self {
            error: Some(error.clone()),
            ..Self::abstained(conversation, metric, error)
        }
    }
}

/// Writes 1.0 as `1`, as the files have it.
fn whole_number<S: Serializer>(score: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match score {
        None => serializer.serialize_none(),
        Some(0.0) => serializer.serialize_u8(0),
        Some(1.0) => serializer.serialize_u8(1),
        Some(other) => serializer.serialize_f64(*other),
    }
}
