//! The input of every exporter: one run of one benchmark against one target, and its samples one after the other.

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;
use schema::{
    Benchmark, Conversation, Extra, Finding, HumanLabel, MetricType, RoleRecords, Scenario, Score,
    TargetRef, Tool, Turn, Usage,
    safety::results::SafetyRates,
    statistics::{RateStatistics, TargetStatistics},
};

use crate::MessagePosition;

/// The facts that all samples of one target of one benchmark share.
///
/// Only `benchmark`, `folder`, `target` and `time` are required; an exporter leaves out what is unknown. [`Run::new`] sets all other fields
/// to unknown.
#[derive(Clone, Debug)]
pub struct Run {
    /// The benchmark, including its metrics.
    pub benchmark: Benchmark,
    /// The name of the benchmark's folder.
    pub folder: String,
    /// The system under test.
    pub target: TargetRef,
    /// The provider or program that served the target, under its name in the configuration: `openai`, `vllm`, `scripted`; `None`: unknown.
    pub source: Option<String>,
    /// Looks up a provider or program by its name; `None`: unknown.
    pub known_source: fn(&str) -> Option<KnownSource>,
    /// When the results were created: the Unix epoch if that is unknown. Times in an export are derived from it, never from the clock.
    pub time: Timestamp,
    /// Whether `time` comes from the files only: another copy of them may have another time. No id depends on it then.
    pub dated_by_files: bool,
    /// A value that distinguishes the results from others if there is no `run_id`, such as a hash of them. It is a part of all ids in an
    /// export. `None`: `run_id` and `time` are sufficient.
    pub content: Option<String>,
    /// When the run started and ended, if known.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
    /// The run's id, `run-…`.
    pub run_id: Option<String>,
    /// How the run ended, according to its manifest: `complete`, `failed_rows`, `interrupted`; `None`: unknown.
    pub outcome: Option<String>,
    /// The version of Probity that created the results.
    pub probity_version: Option<String>,
    /// Git revision of the folder the run was started in.
    pub revision: Option<String>,
    /// How often each scenario was simulated; `None`: unknown.
    pub samples_per_scenario: Option<u32>,
    /// The number of conversations of a complete run; `None`: unknown.
    pub expected: Option<u64>,
    /// The planned turns of each conversation; `None`: unknown.
    pub turns: Option<u32>,
    /// The settings of the target's calls: the keys of the request body except its messages, as sent over the wire.
    pub settings: Extra,
    /// The judges.
    pub judges: Vec<Judge>,
    /// The model that simulated the user; `None`: unknown.
    pub user_model: Option<TargetRef>,
    /// See [`Run::source`].
    pub user_source: Option<String>,
    /// The model that simulated tools; `None`: none, or unknown.
    pub tool_model: Option<TargetRef>,
    /// See [`Run::source`].
    pub tool_source: Option<String>,
    /// The models besides the target with the settings that decide their replies; `None`: unknown.
    pub models: Option<RoleRecords>,
    /// The target's rates with their intervals, from `statistics.json`; `None`: exporters write rates without intervals.
    pub statistics: Option<TargetStatistics>,
    /// For a safety evaluation: the rates over its cases, from its file; `None`: unknown.
    pub safety_rates: Option<SafetyRates>,
    /// The number of conversations that passed a metric but have no sample, by metric id: some files list failures only. They count in
    /// rates, and cannot be shown.
    pub unlisted: Vec<(String, u64)>,
    /// The labels of people on its rows. Labels of other rows are ignored.
    pub labels: Vec<HumanLabel>,
    /// What limits the conclusions from its results, the worst first.
    pub findings: Vec<Finding>,
    /// For a safety evaluation: its result file.
    pub file: Option<PathBuf>,
    /// The names of implementations, their versions and the hashes of their prompts, by phase.
    pub fingerprints: Extra,
}

impl Run {
    /// A run about which nothing else is known.
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
            models: None,
            statistics: None,
            safety_rates: None,
            unlisted: Vec::new(),
            labels: Vec::new(),
            findings: Vec::new(),
            file: None,
            fingerprints: Extra::new(),
        }
    }

    /// The benchmark's id for other programs: its `uid`, or a substitute.
    #[must_use]
    pub fn benchmark_uid(&self) -> String {
        self.benchmark.uid_or(&self.folder)
    }

    /// The value that distinguishes the results from others of the same target: the run's id, or else [`Run::content`].
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.run_id.as_deref().or(self.content.as_deref())
    }

    /// Whether the time of the run is unknown, whatever `time` is.
    #[must_use]
    pub fn is_timeless(&self) -> bool {
        self.dated_by_files || self.time == Timestamp::UNIX_EPOCH
    }

    /// The statistics of the rate of `passed` among `judged` rows. `None` if the statistics are of other rows, such as scores without their
    /// conversation: a rate never gets another rate's interval.
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

    /// The tools that the target may call in `scenario`: those of the benchmark, restricted by the scenario.
    pub fn tools<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = &'a Tool> {
        let offered = |tool: &&Tool| match &scenario.tools {
            None => true,
            Some(names) => names.contains(&tool.name),
        };
        self.benchmark.tools.iter().filter(offered)
    }
}

/// A known provider or program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSource {
    /// Whether users run the server themselves.
    pub self_hosted: bool,
    /// The address of its endpoint; for a local server, the default address; `None`: it has no address.
    pub base_url: Option<&'static str>,
}

/// The rows of a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// The metric with this id.
    Metric(&'a str),
    /// All metrics of a type.
    Type(MetricType),
}

/// A judge model.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Judge {
    /// The user's own name for it.
    pub id: String,
    /// Its name on the wire; empty if unknown.
    pub model: String,
    /// See [`Run::source`].
    pub source: Option<String>,
    /// The settings of its calls, see [`Run::settings`].
    pub settings: Extra,
    /// Its prompt, as role and text, with `{{ definition }}`, `{{ examples }}` and `{{ transcript }}` as placeholders. Empty if unknown.
    pub prompt: Vec<(String, String)>,
}

/// One sample of one scenario, with all known data.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The conversation. Its transcript contains the user's and the target's messages, not the system prompt.
    pub conversation: Conversation,
    /// The target's system prompt; `None`: none, or unknown.
    pub system_prompt: Option<Arc<str>>,
    /// The scores of the conversation, in the order of `scores.json`. Empty: not judged.
    pub scores: Vec<Score>,
    /// The calls of the conversation and of its judges, in the order in which they ended. Empty without a journal.
    pub calls: Vec<Call>,
    /// When the item was queued and ended, if known.
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

    /// The call that gave the target's reply of turn `turn` (from 1) and step `step` (from 0: steps after the first follow answers of
    /// tools).
    #[must_use]
    pub fn reply(&self, turn: u32, step: u32) -> Option<&Call> {
        let is_it = |call: &&Call| {
            call.by == Asked::Target
                && (call.turn, call.step) == (turn, step)
                && call.error.is_none()
        };
        self.calls.iter().rev().find(is_it)
    }

    /// The call that gave the message `said` at `place`, if it is a reply.
    #[must_use]
    pub fn reply_call(&self, said: &Turn, place: MessagePosition) -> Option<&Call> {
        let is_reply = said.is_reply();
        is_reply.then(|| self.reply(place.turn, place.step))?
    }

    /// The calls to one role.
    pub fn calls_to(&self, by: Asked) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.by == by)
    }

    /// The judge calls that gave the score of a metric: the calls for the metric itself, or, if an evaluator scored it without separate
    /// calls, the calls for the metric of the conversation.
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

    /// The usage of the target's calls; `None` if no call is known, or one of them has no usage.
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

/// The role of a called model.
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
    /// The model that simulates a tool.
    Tool,
    /// A judge of a metric.
    Judge,
    /// A judge of the conversation itself: of the simulated user's messages, or of its realism.
    ConversationJudge,
}

/// One call to a model, as in the journal.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Call {
    /// The role of the called model.
    pub by: Asked,
    /// For a judge: the id of the metric that it judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_id: Option<String>,
    /// Of the model that answers in the place of a tool: the id of the target's call that it answers. Reports show it; no export has it.
    #[serde(skip)]
    pub tool_call_id: Option<String>,
    /// The user's own name for the model.
    pub model: String,
    /// The turn of the conversation, from 1; 0 for judges.
    pub turn: u32,
    /// The number of the call to the target within the turn, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub step: u32,
    /// Whether the reply came from the response cache.
    pub cached: bool,
    /// When the call ended, as its journal has it, in the form of RFC 3339; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Seconds from request to reply; `None` for cached replies and failed calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time: Option<f64>,
    /// The endpoint's id for the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The model name that the endpoint reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Why the reply ended, as reported by the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Reasoning text, if the endpoint returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tokens, including failed attempts; `None` if the endpoint did not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Dollars; `None` if unknown.
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
