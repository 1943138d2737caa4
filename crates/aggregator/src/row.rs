//! The parsed part of a score row.

use std::borrow::Cow;

use crate::ConversationKey;
use located::json::{JsonRow, JsonRowsError};
use schema::{JudgeVerdict, Metric, MetricType, ModelId, NoVerdict, Score, ScoreOutcome, Verdict};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny},
};

/// The part of a score row that rates and checks need. Text is borrowed if possible.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreRow<'a> {
    /// The scenario's id.
    pub id: Cow<'a, str>,
    /// The metric's id.
    pub metric_id: Cow<'a, str>,
    /// The metric's type, by which the row counts.
    pub metric_type: MetricType,
    /// The type in the row itself, or else the metric's. They differ in rows of ImpactBench of June 2026, whose type is that of the
    /// scenario's metric; see [`MetricType::settled`].
    pub recorded_type: MetricType,
    /// Whether the row passed; `None` without a verdict.
    pub passed: Option<bool>,
    /// Whether a call or the conversation failed.
    pub failed: bool,
    /// Why there is no verdict, if the row says so.
    pub no_verdict: Option<NoVerdict>,
    /// The judged conversation; empty if the row does not name it.
    pub conv_id: Cow<'a, str>,
    /// Whether the judge found the behaviour; `None` without a verdict, whatever the row states.
    pub present: Option<bool>,
    /// The verdict of each judge of a panel. Empty if there is one judge.
    pub judges: Vec<JudgeRow<'a>>,
    /// What the row states besides, for checks and tallies.
    pub stated: StatedFields<'a>,
}

/// Fields of a score row that no rate needs, as the row states them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedFields<'a> {
    /// The system under test.
    pub target_model: Option<Cow<'a, str>>,
    /// The repetition of the scenario.
    pub sample: Option<u32>,
    /// The judge's verdict on a scale or among categories.
    pub verdict: Option<Verdict>,
    /// `present`; `None` if the row lacks the key, as rows of other programs may.
    pub present: Option<Option<bool>>,
    /// `passed`; `None` if the row lacks the key.
    pub passed: Option<Option<bool>>,
    /// `score`; `None` if the row lacks the key.
    pub score: Option<Option<f64>>,
    /// Whether the verdict is of another program, by the mark that Probity sets.
    pub imported: bool,
    /// The scorer of that program, as its name was imported.
    pub scorer: Option<String>,
}

/// The part of one judge's verdict that rates need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JudgeRow<'a> {
    /// The judge's id.
    #[serde(borrow)]
    pub judge: Cow<'a, str>,
    /// Whether the judge found the behaviour; `None` without a verdict.
    #[serde(default)]
    pub present: Option<bool>,
    /// The judge's verdict, if the metric's are values on a scale or categories.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The judge's further verdicts.
    #[serde(borrow, default)]
    pub readings: Vec<ReadingRow<'a>>,
}

/// The part of a further verdict that rates need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ReadingRow<'a> {
    /// As in [`schema::ReadingKind::as_str`].
    #[serde(borrow)]
    pub reading: Cow<'a, str>,
    /// Whether the judge found the behaviour; `None` without a verdict.
    #[serde(default)]
    pub present: Option<bool>,
}

impl<'a> From<&'a JudgeVerdict> for JudgeRow<'a> {
    fn from(verdict: &'a JudgeVerdict) -> Self {
        Self {
            judge: Cow::Borrowed(&verdict.judge),
            present: verdict.present,
            verdict: verdict.verdict.clone(),
            readings: verdict
                .readings
                .iter()
                .map(|reading| ReadingRow {
                    reading: Cow::Borrowed(reading.reading.as_str()),
                    present: reading.present,
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a Score> for ScoreRow<'a> {
    fn from(score: &'a Score) -> Self {
        let outcome = score.outcome();
        Self {
            id: Cow::Borrowed(&score.id),
            metric_id: Cow::Borrowed(&score.metric_id),
            metric_type: score.metric_type,
            recorded_type: score.metric_type,
            passed: outcome.passed(),
            failed: score.error().is_some(),
            no_verdict: outcome.reason(),
            conv_id: Cow::Borrowed(&score.conv_id),
            present: outcome.passed().and(score.present),
            judges: score.judges.iter().map(JudgeRow::from).collect(),
            stated: StatedFields {
                target_model: Some(Cow::Borrowed(score.target_model.as_str())),
                sample: Some(score.sample),
                verdict: score.verdict.clone(),
                present: Some(score.present),
                passed: Some(outcome.passed()),
                score: Some(score.score),
                imported: score.extra.get("imported") == Some(&serde_json::Value::Bool(true)),
                scorer: score
                    .extra
                    .get("judge")
                    .and_then(|name| Some(name.as_str()?.to_owned())),
            },
        }
    }
}

impl<'a> ScoreRow<'a> {
    /// The part of a row that was parsed before. The type that a row leaves out is that of its metric in `metrics`.
    ///
    /// # Errors
    /// When `row` is not a score row, or lacks its metric's type and `metrics` do not have the metric.
    pub fn of_value(
        row: &'a serde_json::Value,
        metrics: &[Metric],
    ) -> Result<Self, serde_json::Error> {
        Self::of_light(LightRow::deserialize(row)?, metrics)
    }

    /// What the row says about its metric.
    #[must_use]
    pub fn outcome(&self) -> ScoreOutcome {
        ScoreOutcome::of(self.passed, self.failed, self.no_verdict)
    }

    fn of_light(light: LightRow<'a>, metrics: &[Metric]) -> Result<Self, serde_json::Error> {
        let mut metrics = metrics.iter();
        let metric = metrics.find(|metric| metric.id == light.metric_id);
        let of_metric = metric.map(|metric| metric.metric_type);
        let recorded_type = light
            .metric_type
            .or(of_metric)
            .ok_or_else(|| Error::custom(MetricType::missing(&light.metric_id)))?;
        let (present, passed) = (light.present.flatten(), light.passed.flatten());
        let metric_type = of_metric.map_or(recorded_type, |of_metric| {
            of_metric.settled(recorded_type, present, passed)
        });
        Ok(Self {
            id: light.id,
            metric_id: light.metric_id,
            metric_type,
            recorded_type,
            passed,
            failed: light.error.is_some(),
            no_verdict: light.no_verdict,
            conv_id: light.conv_id.unwrap_or_default(),
            present: passed.and(present),
            judges: light.judges.unwrap_or_default(),
            stated: StatedFields {
                target_model: light.target_model,
                sample: light.sample.or(light.older_sample),
                verdict: light.verdict,
                present: light.present,
                passed: light.passed,
                score: light.score,
                imported: light.imported,
                scorer: light.scorer,
            },
        })
    }
}

/// What a score row says, and of what. Unlike [`ScoreRow`], it needs no type of a metric, which rows of other programs may leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictRow {
    /// The scenario's id.
    pub scenario: String,
    /// The metric's id.
    pub metric_id: String,
    /// The id of the conversation, as [`ConversationKey::conversation`] returns it.
    pub conversation: String,
    /// What the row says about its metric.
    pub outcome: ScoreOutcome,
}

impl VerdictRow {
    /// Reads a row of the `scores.json` of `target`.
    ///
    /// # Errors
    /// When it is not a score row.
    pub fn read(row: &JsonRow<'_>, target: &ModelId) -> Result<Self, JsonRowsError> {
        let light: LightRow<'_> = row.parse()?;
        let sample = light.sample.or(light.older_sample);
        let named = light.conv_id.as_deref();
        Ok(Self {
            conversation: ConversationKey::id_of(named, &light.id, target, sample),
            outcome: light.outcome(),
            scenario: light.id.into_owned(),
            metric_id: light.metric_id.into_owned(),
        })
    }
}

/// Whether a score row has a verdict.
///
/// # Errors
/// When it is not a score row.
pub fn is_scored(row: &JsonRow<'_>) -> Result<bool, JsonRowsError> {
    Ok(row.parse::<LightRow<'_>>()?.outcome().is_scored())
}

/// A [`ScoreRow`] in which the metric's type is optional.
#[derive(Deserialize)]
#[serde(expecting = "a score row (a JSON object)")]
struct LightRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    metric_id: Cow<'a, str>,
    metric_type: Option<MetricType>,
    #[serde(borrow, default)]
    target_model: Option<Cow<'a, str>>,
    #[serde(default)]
    sample: Option<u32>,
    #[serde(rename = "_sample", default)]
    older_sample: Option<u32>,
    #[serde(default, deserialize_with = "stated")]
    passed: Option<Option<bool>>,
    #[serde(default, deserialize_with = "stated")]
    present: Option<Option<bool>>,
    #[serde(default, deserialize_with = "stated")]
    score: Option<Option<f64>>,
    #[serde(default, deserialize_with = "is_true")]
    imported: bool,
    #[serde(rename = "judge", default, deserialize_with = "if_text")]
    scorer: Option<String>,
    #[serde(rename = "_verdict", default)]
    verdict: Option<Verdict>,
    #[serde(rename = "_judges", borrow, default)]
    judges: Option<Vec<JudgeRow<'a>>>,
    error: Option<IgnoredAny>,
    #[serde(rename = "_no_verdict")]
    no_verdict: Option<NoVerdict>,
    #[serde(borrow, default)]
    conv_id: Option<Cow<'a, str>>,
}

impl LightRow<'_> {
    fn outcome(&self) -> ScoreOutcome {
        let passed = self.passed.flatten();
        ScoreOutcome::of(passed, self.error.is_some(), self.no_verdict)
    }
}

/// Distinguishes null from a missing key.
fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A text; other programs may use the key for something else.
fn if_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => Some(text),
        _ => None,
    })
}

/// Whether a value is `true`; other programs may use the key for something else.
fn is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde_json::Value::deserialize(deserializer).map(|value| value == serde_json::Value::Bool(true))
}

/// Parses the part of a row that rates and checks need.
pub(crate) fn score_row<'a>(
    row: &JsonRow<'a>,
    metrics: &[Metric],
) -> Result<ScoreRow<'a>, JsonRowsError> {
    let read = ScoreRow::of_light(row.parse()?, metrics);
    read.map_err(|error| row.error(&error))
}

/// Parses a complete row of the `scores.json` of `target`, and fills in what it leaves out; see [`Score::counted`].
///
/// # Errors
/// When it is not a score row, or lacks its metric's type and `metrics` do not have the metric.
pub fn read_score(
    row: &JsonRow<'_>,
    target: &ModelId,
    metrics: &[Metric],
) -> Result<Score, JsonRowsError> {
    match row.parse::<Score>() {
        Ok(mut score) if score.is_whole() => {
            score.metric_type = score.settled_type(metrics);
            Ok(score)
        }
        read => match row.parse() {
            Ok(object) => {
                let joined = Score::counted(object, metrics, target);
                joined.map_err(|error| row.error(&error))
            }
            Err(error) => Err(read.err().unwrap_or(error)),
        },
    }
}
