//! What every exporter is given: one run of one benchmark against one target, and its samples one after the other.

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;
use schema::{
    Benchmark, Conversation, Extra, HumanLabel, MetricType, Scenario, Score, TargetRef, Tool,
    Usage,
    safety::results::SafetyRates,
    statistics::{RateStatistics, TargetStatistics},
};

/// What holds for all samples of one target of one benchmark.
///
/// Only `benchmark`, `folder`, `target` and `time` have to be known; an exporter leaves out what is not. [`Run::new`] fills in the
/// rest as unknown.
#[derive(Clone, Debug)]
pub struct Run {
    /// The benchmark, its metrics included.
    pub benchmark: Benchmark,
    /// The name of the benchmark's folder.
    pub folder: String,
    /// The system under test.
    pub target: TargetRef,
    /// Which provider or program served it, as the configuration names it: `openai`, `vllm`, `scripted`; `None`: not known.
    pub source: Option<String>,
    /// What is known of the provider or program of this name; `None`: nothing.
    pub known_source: fn(&str) -> Option<KnownSource>,
    /// When the results were made: the Unix epoch where that is not known. Times that an export carries are made of it, never of the
    /// clock.
    pub time: Timestamp,
    /// Whether `time` is only that of the files: another copy of them may have another. No id is made of it.
    pub dated_by_files: bool,
    /// What distinguishes the results from others where there is no `run_id`: a hash of them, for one. A part of all ids that an export
    /// carries. `None`: `run_id` and `time` do.
    pub content: Option<String>,
    /// When the run started and ended, where that is known.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
    /// The run's id, `run-…`.
    pub run_id: Option<String>,
    /// How the run ended, as its manifest says: `complete`, `failed_rows`, `interrupted`; `None`: not known.
    pub outcome: Option<String>,
    /// Version of Probity that made the results.
    pub probity_version: Option<String>,
    /// Git revision of the folder the run was started in.
    pub revision: Option<String>,
    /// How often each scenario was simulated; `None`: not known.
    pub samples_per_scenario: Option<u32>,
    /// Conversations that a complete run has; `None`: not known.
    pub expected: Option<u64>,
    /// Turns that each conversation was to have; `None`: not known.
    pub turns: Option<u32>,
    /// The settings of the target's calls: the keys of the request body but its messages, as they went over the wire.
    pub settings: Extra,
    /// Who judged.
    pub judges: Vec<Judge>,
    /// Who simulated the user; `None`: not known.
    pub user_model: Option<TargetRef>,
    /// As [`Run::source`].
    pub user_source: Option<String>,
    /// Who answered in the place of tools; `None`: nobody, or not known.
    pub tool_model: Option<TargetRef>,
    /// As [`Run::source`].
    pub tool_source: Option<String>,
    /// The target's rates with their intervals, as `statistics.json` has them; `None`: exporters write rates without intervals.
    pub statistics: Option<TargetStatistics>,
    /// Of a safety evaluation: the rates over its cases, as its file has them; `None`: not known.
    pub safety_rates: Option<SafetyRates>,
    /// How many more conversations passed a metric than there are samples of, by metric id: some files list failures only. They are
    /// counted in rates, and cannot be shown.
    pub unlisted: Vec<(String, u64)>,
    /// What people say of its rows; labels of rows that it does not have are not looked at.
    pub labels: Vec<HumanLabel>,
    /// Of a safety evaluation: its result file.
    pub file: Option<PathBuf>,
    /// What the names of implementations, their versions and the hashes of their prompts were, by phase.
    pub fingerprints: Extra,
}

impl Run {
    /// A run of which nothing more is known.
    #[must_use]
    pub fn new(
        benchmark: Benchmark,
        folder: impl Into<String>,
        target: TargetRef,
        time: Timestamp,
    ) -> Self {
        Self {
            benchmark,
            folder: folder.into(),
            target,
            source: None,
            known_source: |_| None,
            time,
            dated_by_files: false,
            content: None,
            started: None,
            ended: None,
            run_id: None,
            outcome: None,
            probity_version: None,
            revision: None,
            samples_per_scenario: None,
            expected: None,
            turns: None,
            settings: Extra::new(),
            judges: Vec::new(),
            user_model: None,
            user_source: None,
            tool_model: None,
            tool_source: None,
            statistics: None,
            safety_rates: None,
            unlisted: Vec::new(),
            labels: Vec::new(),
            file: None,
            fingerprints: Extra::new(),
        }
    }

    /// What names the benchmark in other programs: its `uid`, or what stands for it.
    #[must_use]
    pub fn benchmark_uid(&self) -> String {
        self.benchmark.uid_or(&self.folder)
    }

    /// What distinguishes the results from others of the same target: the run's id, or else [`Run::content`].
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.run_id.as_deref().or(self.content.as_deref())
    }

    /// Whether it is not known when the run was, whatever `time` is.
    #[must_use]
    pub fn is_timeless(&self) -> bool {
        self.dated_by_files || self.time == Timestamp::UNIX_EPOCH
    }

    /// The statistics of the rate of `passed` among `judged` rows. `None` where they are of other rows, such as scores whose
    /// conversation is not there: a rate never gets the interval of another.
    pub(crate) fn rate(
        &self,
        scope: Scope<'_>,
        passed: u64,
        judged: u64,
    ) -> Option<&RateStatistics> {
        let rates = &self.statistics.as_ref()?.rates;
        let rate = match scope {
            Scope::Metric(id) => rates.metrics.get(id)?,
            Scope::Type(MetricType::Positive) => &rates.positive,
            Scope::Type(MetricType::Negative) => &rates.negative,
        };
        (judged > 0 && (rate.passed, rate.rows) == (passed, judged)).then_some(rate)
    }

    /// The tools that the target may call in `scenario`: those of the benchmark, narrowed by the scenario.
    pub fn tools<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = &'a Tool> {
        let offered = |tool: &&Tool| match &scenario.tools {
            None => true,
            Some(names) => names.contains(&tool.name),
        };
        self.benchmark.tools.iter().filter(offered)
    }
}

/// A provider or program that is known by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSource {
    /// Whether it is a server that its users run themselves.
    pub self_hosted: bool,
    /// Where its endpoint is, of a server on one's own machine where it is by default; `None`: it has no address.
    pub base_url: Option<&'static str>,
}

/// What a rate is over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// The metric with this id.
    Metric(&'a str),
    /// All metrics of a type.
    Type(MetricType),
}

/// A model that judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judge {
    /// The user's own name for it.
    pub id: String,
    /// Its name on the wire; empty when it is not known.
    pub model: String,
    /// As [`Run::source`].
    pub source: Option<String>,
    /// How it was asked, as [`Run::settings`].
    pub settings: Extra,
    /// Its prompt, role and text; `{{ definition }}`, `{{ examples }}` and `{{ transcript }}` stand where those were. Empty when it
    /// is not known.
    pub prompt: Vec<(String, String)>,
}

/// One sample of one scenario, with all that is known of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The conversation. Its transcript holds the user's and the target's messages, not the system prompt.
    pub conversation: Conversation,
    /// The target's system prompt; `None`: nothing, or not known.
    pub system_prompt: Option<Arc<str>>,
    /// What was found in it, in the order of `scores.json`. Empty: not judged.
    pub scores: Vec<Score>,
    /// The calls of the conversation and of its judges, in the order they ended. Empty where there is no journal.
    pub calls: Vec<Call>,
    /// When the item was queued and ended, where that is known.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
}

impl Sample {
    /// A sample without a journal.
    #[must_use]
    pub fn new(conversation: Conversation, scores: Vec<Score>) -> Self {
        Self {
            conversation,
            system_prompt: None,
            scores,
            calls: Vec::new(),
            started: None,
            ended: None,
        }
    }

    /// The call that gave the target's reply of turn `turn` (from 1) and step `step` (from 0: steps after the first follow on answers
    /// of tools).
    #[must_use]
    pub fn reply(&self, turn: u32, step: u32) -> Option<&Call> {
        let is_it = |call: &&Call| {
            call.by == Asked::Target
                && (call.turn, call.step) == (turn, step)
                && call.error.is_none()
        };
        self.calls.iter().rev().find(is_it)
    }

    /// The calls to one side.
    pub fn calls_to(&self, by: Asked) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.by == by)
    }

    /// The calls of judges that gave the score of a metric: those for the metric itself, or, where an evaluator scored it without calls of its
    /// own, those for the metric of the conversation.
    pub fn judge_calls<'a>(&'a self, metric_id: &'a str) -> impl Iterator<Item = &'a Call> {
        let is_of = |call: &Call, id: &str| call.metric_id.as_deref().is_none_or(|of| of == id);
        let own = self.conversation.scenario.metric_id.as_str();
        let has_own = self
            .calls_to(Asked::Judge)
            .any(|call| is_of(call, metric_id));
        let wanted = if has_own { metric_id } else { own };
        self.calls_to(Asked::Judge)
            .filter(move |call| is_of(call, wanted))
    }

    /// What the target's calls used; `None` where no call is known, or one of them came without usage.
    #[must_use]
    pub fn target_usage(&self) -> Option<Usage> {
        let mut sum = None;
        for call in self.calls_to(Asked::Target) {
            let used = call.usage?;
            sum.get_or_insert_with(Usage::default).add(&used);
        }
        sum
    }
}

/// Whom a call asked.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The system under test.
    Target,
    /// The simulated user.
    User,
    /// The model that answers in the place of a tool.
    Tool,
    /// A judge of a metric.
    Judge,
    /// A judge of the conversation itself: of the simulated user's messages, or of how real it is.
    ConversationJudge,
}

/// One call to a model, as in the journal.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Call {
    /// Whom it asked.
    pub by: Asked,
    /// Of a judge: the metric that it judged, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_id: Option<String>,
    /// Of the model that answers in the place of a tool: the id of the target's call that it answers. Reports show it; no export has it.
    #[serde(skip)]
    pub tool_call_id: Option<String>,
    /// The user's own name for the model.
    pub model: String,
    /// The turn of the conversation, from 1; 0 for judges.
    pub turn: u32,
    /// Which call to the target within the turn, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub step: u32,
    /// Whether the reply came from the response cache.
    pub cached: bool,
    /// Seconds from request to reply; `None` for cached replies and failed calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The endpoint's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The name the endpoint gave for the model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Why the reply ended, as the endpoint said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Thinking text, where the endpoint gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tokens, failed attempts included; `None` when the endpoint did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Dollars; `None` when they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(step: &u32) -> bool {
    *step == 0
}
