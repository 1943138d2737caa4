//! Verdicts as Inspect's scores.

use std::borrow::Cow;

use schema::{Extra, MetricType, PhaseCost, Score as Row, ScoreOutcome, Verdict};
use serde::{Serialize, Serializer};

use super::{json::ScoreValue, thin};

/// One verdict.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Score<'a> {
    pub(super) value: ScoreValue,
    /// Whether the row passed.
    #[serde(skip)]
    pub(super) passed: bool,
    /// The judge's justification.
    #[serde(skip_serializing_if = "str::is_empty")]
    explanation: Cow<'a, str>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    metadata: ScoreMetadata<'a>,
}

/// The fields of a row of `scores.json` that Inspect has no place for.
#[derive(Clone, Debug, Serialize)]
struct ScoreMetadata<'a> {
    metric_id: &'a str,
    metric_name: &'a str,
    metric_type: MetricType,
    /// Whether the transcript shows the behaviour of the definition.
    present: Option<bool>,
    passed: Option<bool>,
    /// The value or the category, if the judge gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a PhaseCost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'a Extra>,
}

impl<'a> Score<'a> {
    fn of(row: &'a Row) -> Self {
        Self {
            value: row
                .score
                .filter(|score| score.is_finite())
                .map_or(ScoreValue::Unscored, ScoreValue::Known),
            passed: row.outcome() == ScoreOutcome::Passed,
            explanation: Cow::Borrowed(&row.justification),
            reason: match (row.score, row.error()) {
                (Some(_), _) => None,
                // The judge answered without a verdict.
                (None, None) => Some("grader_failed"),
                (None, Some(_)) => Some("scoring_failed"),
            },
            metadata: ScoreMetadata {
                metric_id: &row.metric_id,
                metric_name: &row.metric_name,
                metric_type: row.metric_type,
                present: row.present,
                passed: row.outcome().passed(),
                verdict: row.verdict.as_ref(),
                error: row.error().map(Cow::Borrowed),
                usage: row.usage.as_ref(),
                extra: (!row.extra.is_empty()).then_some(&row.extra),
            },
        }
    }

    /// The score for a summary: without long texts.
    fn thin(&self) -> Self {
        let mut thin = self.clone();
        thin.explanation = Cow::Owned(thin::text(&self.explanation).into_owned());
        thin.metadata.error = self
            .metadata
            .error
            .as_deref()
            .map(|error| Cow::Owned(thin::text(error).into_owned()));
        thin.metadata.usage = None;
        thin.metadata.extra = None;
        thin
    }
}

/// The scores of a sample by metric.
#[derive(Clone, Debug)]
pub(super) struct Scores<'a>(pub(super) Vec<(Cow<'a, str>, Score<'a>)>);

impl<'a> Scores<'a> {
    /// The scores of `rows`, in their order. If two rows have the same metric, the second is named
    /// `m01 (2)`.
    pub(super) fn of(rows: &'a [Row]) -> Self {
        let mut scores: Vec<(Cow<'a, str>, Score<'a>)> = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            let earlier = rows.iter().take(at);
            let same = earlier.filter(|other| other.metric_id == row.metric_id);
            let name = match same.count() {
                0 => Cow::Borrowed(row.metric_id.as_str()),
                n => Cow::Owned(format!("{} ({})", row.metric_id, n + 1)),
            };
            scores.push((name, Score::of(row)));
        }
        Self(scores)
    }

    pub(super) fn thin(&self) -> Self {
        let thin = |(name, score): &(Cow<'a, str>, Score<'a>)| (name.clone(), score.thin());
        Self(self.0.iter().map(thin).collect())
    }
}

impl Serialize for Scores<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, score)| (name, score)))
    }
}
