//! What is read of a score row.

use std::borrow::Cow;

use schema::{Metric, MetricType, ModelId, Score};
use serde::{Deserialize, de::Error};
use serde_json::value::RawValue;

/// The part of a score row that rates are made of. Text is borrowed where it can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreRow<'a> {
    /// The scenario's id.
    pub id: Cow<'a, str>,
    /// The metric's id.
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
    /// The row as the text has it; it may borrow from there.
    type Row<'a>: Deserialize<'a>;
    /// The row with what other files know of it.
    type Whole<'a>;

    /// Joins what the row leaves out. (The bound makes the lifetime one of the function, not of its arguments, in every
    /// implementation.)
    fn whole<'a>(
        row: Self::Row<'a>,
        known: Known<'_>,
    ) -> Result<Self::Whole<'a>, serde_json::Error>
    where
        'a: 'a;
}

/// What rows of `scores.json` may leave out.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    pub(crate) model: &'k ModelId,
    pub(crate) metrics: &'k [Metric],
}

/// Rows are read as [`ScoreRow`].
pub(crate) struct Light;

/// A [`ScoreRow`] that may leave out its metric's type.
#[derive(Deserialize)]
#[serde(expecting = "a score row (a JSON object)")]
pub(crate) struct LightRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    metric_id: Cow<'a, str>,
    metric_type: Option<MetricType>,
    passed: Option<bool>,
}

impl RowKind for Light {
    type Row<'a> = LightRow<'a>;
    type Whole<'a> = ScoreRow<'a>;

    fn whole<'a>(row: LightRow<'a>, known: Known<'_>) -> Result<ScoreRow<'a>, serde_json::Error>
    where
        'a: 'a,
    {
        let of_metric = || {
            let metric = known
                .metrics
                .iter()
                .find(|metric| metric.id == row.metric_id);
            metric.map(|metric| metric.metric_type)
        };
        let metric_type = row
            .metric_type
            .or_else(of_metric)
            .ok_or_else(|| Error::custom(MetricType::missing(&row.metric_id)))?;
        Ok(ScoreRow {
            id: row.id,
            metric_id: row.metric_id,
            metric_type,
            passed: row.passed,
        })
    }
}

/// Rows are read as [`Score`].
pub(crate) struct Full;

impl RowKind for Full {
    type Row<'a> = &'a RawValue;
    type Whole<'a> = Score;

    fn whole<'a>(row: &'a RawValue, known: Known<'_>) -> Result<Score, serde_json::Error>
    where
        'a: 'a,
    {
        match serde_json::from_str::<Score>(row.get()) {
            Ok(score) if score.is_whole() => Ok(score),
            read => match serde_json::from_str(row.get()) {
                Ok(row) => Score::joined(row, known.metrics, known.model),
                Err(error) => Err(read.err().unwrap_or(error)),
            },
        }
    }
}
