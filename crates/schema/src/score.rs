//! Score rows: `runs/<model-id>/scores.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, de::Error};
use serde_json::{Value, json};

use crate::{
    Conversation, Extra, JudgeVerdict, Metric, MetricType, ModelId, NoVerdict, PhaseCost,
    ScoreOutcome, Verdict, VerdictError,
};

/// One row of `scores.json`: one metric judged in one conversation.
///
/// `present`, `passed` and `score` are either all known or all null. Null means that there is no usable verdict: `_no_verdict` then
/// has the kind of reason, `justification` explains it, and no rate counts the row. [`Score::outcome`] reads them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The scenario's id.
    pub id: String,
    /// The judged metric.
    pub metric_id: String,
    /// Its name.
    #[serde(default)]
    pub metric_name: String,
    /// Its type.
    pub metric_type: MetricType,
    /// The system under test.
    pub target_model: ModelId,
    /// The judged conversation.
    #[serde(default)]
    pub conv_id: String,
    /// Whether the behaviour of the definition is in the transcript: the judge's own yes or no, or the meaning of its `_verdict`.
    pub present: Option<bool>,
    /// For a positive metric the same as `present`, for a negative one the opposite.
    pub(crate) passed: Option<bool>,
    /// 1 when passed, 0 when not.
    #[serde(serialize_with = "whole_number")]
    pub score: Option<f64>,
    /// Why the judge decided so; without a verdict, why there is none.
    #[serde(default)]
    pub justification: String,
    /// The repetition of the scenario, from 0.
    #[serde(alias = "_sample", default)]
    pub sample: u32,
    /// The error, if the row has no verdict because a call or the conversation failed. A judge that replied without a usable verdict
    /// abstained, which is not an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Why there is no verdict. Absent on rows with one, and on rows of programs that do not record it.
    #[serde(
        rename = "_no_verdict",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) no_verdict: Option<NoVerdict>,
    /// The judge's decision, if the metric's `verdict` is a scale or categories.
    #[serde(rename = "_verdict", default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Each judge of a panel. Empty if there is only one judge, which is called only for its verdict.
    #[serde(rename = "_judges", default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeVerdict>,
    /// What the calls for this row used and cost.
    #[serde(rename = "_usage", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<PhaseCost>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Score {
    /// Reads a row of `scores.json` of any program and generation. Fields that ImpactBench leaves out are filled in: the metric's
    /// name and type from `metrics`, `score` from the verdict, `conv_id` from scenario, target and sample. `target` is used for a row
    /// that does not name its target.
    ///
    /// The verdict is `passed`. A row without it has none, as in the rates of ImpactBench, and `present` and `score` are null.
    ///
    /// # Errors
    /// When `row` is not a score row, or lacks its metric's type and `metrics` do not have the metric.
    pub fn joined(
        mut row: Extra,
        metrics: &[Metric],
        target: &ModelId,
    ) -> Result<Self, serde_json::Error> {
        row.retain(|key, value| !value.is_null() || !NULL_IS_ABSENT.contains(&key.as_str()));
        if row.contains_key("sample") {
            row.shift_remove("_sample");
        }
        let id = row.get("metric_id").and_then(Value::as_str);
        let metric = metrics.iter().find(|metric| Some(metric.id.as_str()) == id);
        match (row.contains_key("metric_type"), metric, id) {
            (false, Some(metric), _) => {
                row.insert("metric_type".to_owned(), metric.metric_type.as_str().into());
            }
            (false, None, Some(id)) => return Err(Error::custom(MetricType::missing(id))),
            _ => {}
        }
        row.entry("target_model")
            .or_insert_with(|| target.as_str().into());
        let mut score: Self = serde_json::from_value(Value::Object(row))?;
        if let (true, Some(metric)) = (score.metric_name.is_empty(), metric) {
            score.metric_name.clone_from(&metric.name);
        }
        match score.passed {
            Some(passed) => {
                let number = f64::from(u8::from(passed));
                score.score.get_or_insert(number);
            }
            None => (score.present, score.score) = (None, None),
        }
        if score.conv_id.is_empty() {
            score.conv_id = Conversation::make_id(&score.id, &score.target_model, score.sample);
        }
        Ok(score)
    }

    /// What the row says about its metric.
    #[must_use]
    pub fn outcome(&self) -> ScoreOutcome {
        ScoreOutcome::of(self.passed, self.error.is_some(), self.no_verdict)
    }

    /// The text of the error, if the row has no verdict because a call or the conversation failed.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The type by which the row counts; see [`MetricType::settled`]. The row's own if `metrics` do not have its metric.
    #[must_use]
    pub fn settled_type(&self, metrics: &[Metric]) -> MetricType {
        let metric = metrics.iter().find(|metric| metric.id == self.metric_id);
        metric.map_or(self.metric_type, |metric| {
            let recorded = self.metric_type;
            metric
                .metric_type
                .settled(recorded, self.present, self.passed)
        })
    }

    /// Like [`Score::joined`], with the type by which the row counts; see [`Score::settled_type`].
    ///
    /// # Errors
    /// As [`Score::joined`].
    pub fn counted(
        row: Extra,
        metrics: &[Metric],
        target: &ModelId,
    ) -> Result<Self, serde_json::Error> {
        let mut score = Self::joined(row, metrics, target)?;
        score.metric_type = score.settled_type(metrics);
        Ok(score)
    }

    /// Whether the row lacks no field that would be filled in; see [`Score::joined`].
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.metric_name.is_empty()
            && !self.conv_id.is_empty()
            && self.passed.is_some() == self.score.is_some()
            && (self.passed.is_some() || self.present.is_none())
    }

    /// A row with a yes/no verdict.
    #[must_use]
    pub fn judged(
        conversation: &Conversation,
        metric: &Metric,
        present: bool,
        justification: impl Into<String>,
    ) -> Self {
        Self::abstained(conversation, metric, None, justification).with_present(present)
    }

    /// A row with a verdict of the metric's `verdict` type: a value on its scale, one of its categories, or yes/no without either.
    ///
    /// # Errors
    /// When the metric cannot have this verdict.
    pub fn of_verdict(
        conversation: &Conversation,
        metric: &Metric,
        verdict: Verdict,
        justification: impl Into<String>,
    ) -> Result<Self, VerdictError> {
        let present = metric.is_present(&verdict)?;
        let row = Self::judged(conversation, metric, present, justification);
        Ok(Self {
            verdict: metric.verdict.is_some().then_some(verdict),
            ..row
        })
    }

    /// The row with `present`, and with `passed` and `score`, which follow from it and the metric's type.
    #[must_use]
    pub fn with_present(self, present: bool) -> Self {
        let passed = self.metric_type.passed(present);
        Self {
            present: Some(present),
            passed: Some(passed),
            score: Some(f64::from(u8::from(passed))),
            no_verdict: None,
            ..self
        }
    }

    /// The verdict as in journals, which [`AnnotatedVerdict::read`] reads again: `annotation` of `translated annotation` and `merged annotation`.
    #[must_use]
    pub fn annotation(&self) -> Value {
        let mut metadata = json!({"present": self.present, "justification": self.justification});
        if let Some(verdict) = &self.verdict {
            metadata["verdict"] = json!(verdict);
        }
        json!({"is_safe": self.passed.unwrap_or_default(), "is_valid": true, "metadata": metadata})
    }

    /// A row without a verdict. `reason` is the kind of reason, if it is known, and `words` explain it.
    #[must_use]
    pub fn abstained(
        conversation: &Conversation,
        metric: &Metric,
        reason: impl Into<Option<NoVerdict>>,
        words: impl Into<String>,
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
            justification: words.into(),
            sample: conversation.sample,
            error: None,
            no_verdict: reason.into(),
            verdict: None,
            judges: Vec::new(),
            usage: None,
            extra: Extra::new(),
        }
    }

    /// A row without a verdict because something failed: a call to the judge, or the conversation itself. `reason` as in
    /// [`Score::abstained`].
    #[must_use]
    pub fn failed(
        conversation: &Conversation,
        metric: &Metric,
        reason: impl Into<Option<NoVerdict>>,
        error: impl Into<String>,
    ) -> Self {
        let error = error.into();
        Self {
            error: Some(error.clone()),
            ..Self::abstained(conversation, metric, reason, error)
        }
    }
}

/// The verdict in an annotation of a journal; see [`Score::annotation`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AnnotatedVerdict {
    /// Whether the behaviour is in the transcript.
    pub present: bool,
    /// Why the judge decided so.
    pub justification: String,
}

impl AnnotatedVerdict {
    /// Reads `annotation.metadata`.
    ///
    /// # Errors
    /// When it does not hold a verdict with its justification.
    pub fn read(annotation: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(&annotation["metadata"])
    }
}

/// Keys for which null means the same as absent.
const NULL_IS_ABSENT: [&str; 7] = [
    "metric_name",
    "metric_type",
    "target_model",
    "conv_id",
    "justification",
    "sample",
    "_sample",
];

/// Writes 1.0 as `1`, as in the files.
fn whole_number<S: Serializer>(score: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match score {
        None => serializer.serialize_none(),
        Some(0.0) => serializer.serialize_u8(0),
        Some(1.0) => serializer.serialize_u8(1),
        Some(other) => serializer.serialize_f64(*other),
    }
}
