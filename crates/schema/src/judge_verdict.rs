//! What one judge of a panel said: `_judges` of a row of `scores.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Extra, ModelId, NoVerdict, Score, Verdict};

/// One judge's verdict of one metric in one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeVerdict {
    /// The judge's id.
    pub judge: String,
    /// Whether the judge found the behaviour; null where it gave no usable verdict.
    pub present: Option<bool>,
    /// Its verdict, where the metric's `verdict` is a scale or categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why the judge decided so; without a verdict, why there is none.
    #[serde(default)]
    pub justification: String,
    /// What failed, where a call to the judge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it gave no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl JudgeVerdict {
    /// What `judge` said, whose row by itself would be `score`.
    #[must_use]
    pub fn of(judge: &ModelId, score: &Score) -> Self {
        Self {
            judge: judge.to_string(),
            present: score.present,
            verdict: score.verdict.clone(),
            justification: score.justification.clone(),
            error: score.error.clone(),
            no_verdict: score.no_verdict,
            extra: Extra::new(),
        }
    }

    /// For people: the verdict, or `no verdict`.
    #[must_use]
    pub fn text(&self) -> String {
        match (&self.verdict, self.present) {
            (Some(verdict), Some(_)) => verdict.text(),
            (None, Some(true)) => "present".to_owned(),
            (None, Some(false)) => "absent".to_owned(),
            (_, None) => "no verdict".to_owned(),
        }
    }
}
