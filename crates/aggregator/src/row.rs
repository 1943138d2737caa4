//! What is read of a score row.

use std::borrow::Cow;

use schema::{MetricType, Score};
use serde::Deserialize;

/// The part of a score row that rates are made of. Text is borrowed where it can be; other keys are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(expecting = "a score row (a JSON object)")]
pub struct ScoreRow<'a> {
    /// The scenario's id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The metric's id.
    #[serde(borrow)]
    pub metric_id: Cow<'a, str>,
    /// The metric's type.
    pub metric_type: MetricType,
    /// Whether the row passed; `None` where there is no verdict.
    pub passed: Option<bool>,
}

impl<'a> From<&'a Score> for ScoreRow<'a> {
    fn from(score: &'a Score) -> Self {
        Self {
            id: Cow::Borrowed(&score.id),
            metric_id: Cow::Borrowed(&score.metric_id),
            metric_type: score.metric_type,
            passed: score.passed,
        }
    }
}

/// What a row is read as.
pub(crate) trait RowKind {
    /// The row; it may borrow from the text it is read from.
    type Row<'a>: Deserialize<'a>;
}

/// Rows are read as [`ScoreRow`].
pub(crate) struct Light;

impl RowKind for Light {
    type Row<'a> = ScoreRow<'a>;
}

/// Rows are read as [`Score`].
pub(crate) struct Full;

impl RowKind for Full {
    type Row<'a> = Score;
}
