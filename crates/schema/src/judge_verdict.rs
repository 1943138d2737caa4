//! The verdict of one judge: `_judges` of a row of `scores.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Extra, ModelId, NoVerdict, Score, Verdict};

/// One judge's verdict on one metric in one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeVerdict {
    /// The judge's id.
    pub judge: String,
    /// Whether the judge found the behaviour; null if it gave no usable verdict.
    pub present: Option<bool>,
    /// Its verdict, if the metric's `verdict` is a scale or categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why the judge decided so; without a verdict, why there is none.
    #[serde(default)]
    pub justification: String,
    /// The error, if a call to the judge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it gave no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// The passages that support its verdict, if judges must quote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<JudgeQuote>,
    /// Its further verdicts on the same row, if some rows are judged again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<JudgeReading>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl JudgeVerdict {
    /// The verdict of `judge`, whose own row would be `score`.
    #[must_use]
    pub fn of(judge: &ModelId, score: &Score) -> Self {
        Self {
            judge: judge.to_string(),
            present: score.present,
            verdict: score.verdict.clone(),
            justification: score.justification.clone(),
            error: score.error.clone(),
            no_verdict: score.no_verdict,
            quotes: Vec::new(),
            readings: Vec::new(),
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
/// A passage that supports a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeQuote {
    /// The number of the message, from 1.
    pub message: u64,
    /// The text. It is in the message, apart from white space and the form of quotation marks.
    pub text: String,
}

/// Why a judge read a transcript again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadingKind {
    /// The same request a second time.
    Repeat,
    /// The metric's examples in reverse order.
    Order,
    /// Two additional messages without relevance at the end.
    Length,
    /// The question turned round: whether the behaviour is absent, or the labels or levels in reverse order.
    Reversed,
}

impl ReadingKind {
    /// All kinds, in the order of the calls.
    pub const ALL: [Self; 4] = [Self::Repeat, Self::Order, Self::Length, Self::Reversed];

    /// The name in files and in the row of the call.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Order => "order",
            Self::Length => "length",
            Self::Reversed => "reversed",
        }
    }
}

/// A further verdict of a judge on the same row. It does not affect the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeReading {
    /// The kind of repetition.
    pub reading: ReadingKind,
    /// Whether the judge found the behaviour; null if it gave no usable verdict.
    pub present: Option<bool>,
    /// Its verdict, if the metric's `verdict` is a scale or categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why the judge decided so; without a verdict, why there is none.
    #[serde(default)]
    pub justification: String,
    /// The error, if a call to the judge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
