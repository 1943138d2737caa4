//! `benchmark.yaml`: what a benchmark measures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Extra, Hazard, ReplyCheck, Tool, VerdictType};

/// One benchmark: the content of `benchmark.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// The id of the benchmark in journals, records and standards files; see [`Benchmark::uid_or`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Short name for people. Empty when the file has none; readers then use the folder's name.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub name: String,
    /// Version of the benchmark, such as `1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Language and region, such as `en_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The behaviour to measure, in plain words. Metrics are generated from it.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub description: String,
    /// Settings that all scenarios share.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "ScenarioDefaults::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub scenario: ScenarioDefaults,
    /// What the judge looks for. Ids are unique.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub metrics: Vec<Metric>,
    /// Metrics that are scored and graded together. Empty: each metric on its own; see [`Benchmark::scored_hazards`].
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub hazards: Vec<Hazard>,
    /// Tools that the system under test may call. Names are unique. A scenario may restrict them.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub tools: Vec<Tool>,
    /// The state of the world for simulated tools. A scenario's `world_state` takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_state: Option<String>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Benchmark {
    /// The input for generating metrics.
    #[must_use]
    pub fn brief(&self) -> Brief {
        Brief {
            name: self.name.clone(),
            description: self.description.clone(),
            user_context: self.scenario.user_context.clone(),
        }
    }

    /// Whether judges are needed: a metric has no check, or metrics are still to be generated.
    #[must_use]
    pub fn needs_judges(&self) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|metric| metric.check.is_none())
    }

    /// The metric with this id.
    #[must_use]
    pub fn metric(&self, id: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.id == id)
    }
}

/// The `scenario` section of `benchmark.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioDefaults {
    /// The setting as the system under test sees it: its system prompt. A scenario's `target_system_prompt` takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_context: Option<String>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ScenarioDefaults {
    fn is_empty(&self) -> bool {
        self.user_context.is_none() && self.extra.is_empty()
    }
}

/// The input for generating metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The benchmark's name.
    pub name: String,
    /// The behaviour to measure, in plain words.
    pub description: String,
    /// The setting in which the system under test is used.
    pub user_context: Option<String>,
}

/// One behaviour that a judge can find in a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Unique within the benchmark: `m01`, `m02`...
    pub id: String,
    /// Name for people. A negative metric is named "Avoid X".
    pub name: String,
    /// Whether the behaviour is desired.
    #[serde(rename = "type")]
    pub metric_type: MetricType,
    /// The behaviour that the judge looks for. For a metric "Avoid X" it describes X.
    pub definition: String,
    /// Examples of the behaviour: usually strings, kept unchanged.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub examples: Vec<Value>,
    /// Near misses: texts that look like the behaviour and do not show it. Judges see them from version 2 of their prompts on.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub counterexamples: Vec<Value>,
    /// The form of the judges' answers. Absent: whether the behaviour is present, yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictType>,
    /// A test of the replies that decides in place of judges. Absent: judges decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<ReplyCheck>,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Metric {
    /// A metric without examples, which judges answer with yes or no. `definition` describes the behaviour that the judge looks
    /// for, even if `metric_type` makes it an undesired one.
    ///
    /// ```
    /// use schema::{Metric, MetricType};
    ///
    /// let metric = Metric::new("m01", "Avoid caving in", MetricType::Negative, "The assistant gives up a right answer.");
    /// assert_eq!(metric.verdict, None);
    /// let with_examples = Metric { examples: vec!["You are right, it is 5.".into()], ..metric };
    /// assert_eq!(with_examples.example_texts(), ["You are right, it is 5."]);
    /// ```
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        metric_type: MetricType,
        definition: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            metric_type,
            definition: definition.into(),
            examples: Vec::new(),
            counterexamples: Vec::new(),
            verdict: None,
            check: None,
            extra: Extra::new(),
        }
    }

    /// The examples as text: strings unchanged, anything else as JSON.
    #[must_use]
    pub fn example_texts(&self) -> Vec<String> {
        texts(&self.examples)
    }

    /// The counterexamples as text, like [`Metric::example_texts`].
    #[must_use]
    pub fn counterexample_texts(&self) -> Vec<String> {
        texts(&self.counterexamples)
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    values.iter().map(text).collect()
}

/// Whether a metric's behaviour is desired.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MetricType {
    /// Passed when the behaviour is present.
    Positive,
    /// Passed when the behaviour is not present.
    Negative,
}

impl MetricType {
    /// Whether a sample passes, given whether the behaviour is `present` in it.
    #[must_use]
    pub fn passed(self, present: bool) -> bool {
        match self {
            Self::Positive => present,
            Self::Negative => !present,
        }
    }

    /// The type by which a score row counts that has the type `recorded` and the verdict `present` and `passed`, where its metric in
    /// `benchmark.yaml` has the type `self`: that of the metric, unless only the recorded one explains `passed`. ImpactBench wrote rows
    /// of one conversation judged on all metrics, each with the type of the scenario's own metric (June 2026).
    #[must_use]
    pub fn settled(self, recorded: Self, present: Option<bool>, passed: Option<bool>) -> Self {
        match (present, passed) {
            _ if self == recorded => self,
            (_, None) => self,
            (Some(present), Some(passed)) if self.passed(present) == passed => self,
            (_, Some(_)) => recorded,
        }
    }

    /// The error for a score row without its metric's type, if the metric `id` is unknown too.
    #[must_use]
    pub fn missing(id: &str) -> String {
        format!(
            "missing field `metric_type`, and benchmark.yaml has no metric {id:?} to take it from"
        )
    }

    /// `positive` or `negative`, as in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }
}
