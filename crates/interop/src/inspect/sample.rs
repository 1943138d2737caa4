//! One conversation as a sample of a log, and as an entry of its list of samples.

use std::{borrow::Cow, io};

use schema::{
    Conversation, Extra, MetricType, PhaseCost, Realism, Role, Scenario, SimulatorCheck,
    SimulatorFault,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    events::{EvalError, Event, EventsData, endings, events},
    ids,
    message::{Message, ModelOutput, messages},
    score::Scores,
    thin,
    tools::Tools,
    usage::{ByName, Used},
};
use crate::{Asked, Call, Run, Sample, key_collisions, places::places};

/// The parts of a sample of the log.
pub(super) struct SampleParts<'a> {
    pub(super) id: String,
    pub(super) epoch: u64,
    uuid: String,
    input: &'a str,
    target: Vec<&'a str>,
    messages: Vec<Message>,
    pub(super) scores: Scores<'a>,
    pub(super) used: Used,
    tools: Vec<&'a RawValue>,
    run: &'a Run,
    sample: &'a Sample,
}

impl<'a> SampleParts<'a> {
    pub(super) fn of(
        run: &'a Run,
        eval_id: &str,
        tools: &'a Tools,
        sample: &'a Sample,
    ) -> io::Result<Self> {
        let conversation = &sample.conversation;
        let id = ids::sample_id(conversation);
        let epoch = ids::epoch(conversation);
        let uuid = ids::id_of(&[eval_id, &conversation.conv_id, &id, &epoch.to_string()]);
        let messages = messages(run, sample, &uuid)?;
        let said = |role| move |turn: &&schema::Turn| turn.role == role;
        let first = conversation.transcript.iter().find(said(Role::User));
        Ok(Self {
            id,
            epoch,
            uuid,
            input: first.map_or("", |turn| &turn.content),
            target: metric_names(run, sample),
            messages,
            scores: Scores::of(&sample.scores),
            used: Used::of_calls(run, &sample.calls),
            tools: tools.offered(run, &conversation.scenario),
            run,
            sample,
        })
    }

    fn turns(&self) -> usize {
        let turns = self.sample.conversation.transcript.iter();
        turns.filter(|turn| turn.is_reply()).count()
    }

    fn seconds(&self) -> Option<f64> {
        let (start, end) = (self.sample.started?, self.sample.ended?);
        Some(end.duration_since(start).as_secs_f64()).filter(|seconds| *seconds >= 0.0)
    }

    /// The sample.
    pub(super) fn sample(&self) -> EvalSample<'_> {
        let error = self.sample.conversation.error.as_deref();
        let (run, sample) = (self.run, self.sample);
        let mut happened = events(run, sample, &self.uuid, &self.messages, &self.tools);
        happened.extend(endings(run, sample, &self.uuid, &self.target, &self.scores));
        EvalSample {
            id: &self.id,
            epoch: self.epoch,
            input: self.input,
            target: &self.target,
            messages: &self.messages,
            output: last_output(run, sample, &self.messages),
            scores: (!self.scores.0.is_empty()).then_some(&self.scores),
            metadata: Metadata::of(self.sample),
            store: Extra::new(),
            events: happened,
            events_data: EventsData::of(&self.messages),
            model_usage: &self.used.by_model,
            role_usage: &self.used.by_role,
            started_at: self.sample.started.map(ids::time),
            completed_at: self.sample.ended.map(ids::time),
            total_time: self.seconds(),
            uuid: &self.uuid,
            error: error.map(EvalError::new),
            attachments: Extra::new(),
            turn_count: self.turns(),
        }
    }

    /// The sample's entry in the list of samples.
    pub(super) fn summary(&self) -> EvalSampleSummary<'_> {
        let conversation = &self.sample.conversation;
        EvalSampleSummary {
            id: &self.id,
            epoch: self.epoch,
            input: thin::input(self.input),
            target: &self.target,
            metadata: SummaryMetadata::of(conversation),
            scores: (!self.scores.0.is_empty()).then(|| self.scores.thin()),
            model_usage: &self.used.by_model,
            role_usage: &self.used.by_role,
            started_at: self.sample.started.map(ids::time),
            completed_at: self.sample.ended.map(ids::time),
            total_time: self.seconds(),
            uuid: &self.uuid,
            error: conversation.error.as_deref(),
            completed: true,
            message_count: self.messages.len(),
            turn_count: self.turns(),
        }
    }
}

/// The target's last message, if the conversation ends with it.
fn last_output<'a>(run: &'a Run, sample: &'a Sample, messages: &'a [Message]) -> ModelOutput<'a> {
    let turns = &sample.conversation.transcript;
    let last = turns.last().filter(|turn| turn.role == Role::Assistant);
    let place = places(turns)
        .last()
        .map(|(place, _)| place)
        .unwrap_or_default();
    match (last, messages.last()) {
        (Some(said), Some(message)) => {
            let reply = sample.reply(place.turn, place.step);
            ModelOutput::of(run, reply, said, message).with_text(said)
        }
        _ => ModelOutput::none(run),
    }
}

/// The names of the sample's metrics, such as `Avoid caving in to pushback`.
fn metric_names<'a>(run: &'a Run, sample: &'a Sample) -> Vec<&'a str> {
    let name = |id: &'a str, given: Option<&'a str>| {
        let known = run.benchmark.metric(id).map(|metric| metric.name.as_str());
        given
            .filter(|name| !name.is_empty())
            .or(known)
            .unwrap_or(id)
    };
    let scenario = &sample.conversation.scenario;
    if sample.scores.is_empty() {
        return vec![name(&scenario.metric_id, scenario.metric_name.as_deref())];
    }
    let names = sample.scores.iter();
    names
        .map(|row| name(&row.metric_id, Some(&row.metric_name)))
        .collect()
}

/// A sample of the log.
#[derive(Serialize)]
pub(super) struct EvalSample<'a> {
    id: &'a str,
    epoch: u64,
    input: &'a str,
    target: &'a [&'a str],
    messages: &'a [Message],
    output: ModelOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<&'a Scores<'a>>,
    metadata: Metadata<'a>,
    store: Extra,
    events: Vec<Event<'a>>,
    events_data: EventsData<'a>,
    model_usage: &'a ByName,
    role_usage: &'a ByName,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_time: Option<f64>,
    uuid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<EvalError<'a>>,
    attachments: Extra,
    turn_count: usize,
}

/// The scenario, and the other data of the row in `conversations.json`.
#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    scenario: Cow<'a, Scenario>,
    conv_id: &'a str,
    sample: u32,
    target_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a PhaseCost>,
    #[serde(rename = "_simulator_faults", skip_serializing_if = "<[_]>::is_empty")]
    simulator_faults: &'a [SimulatorFault],
    #[serde(rename = "_simulator_check", skip_serializing_if = "Option::is_none")]
    simulator_check: Option<&'a SimulatorCheck>,
    #[serde(rename = "_realism", skip_serializing_if = "Option::is_none")]
    realism: Option<&'a Realism>,
    /// The calls to the user model and the judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<&'a Call>,
}

impl<'a> Metadata<'a> {
    fn of(sample: &'a Sample) -> Self {
        let conversation = &sample.conversation;
        let calls = sample.calls.iter();
        Self {
            conv_id: &conversation.conv_id,
            sample: conversation.sample,
            target_id: conversation.target.id.as_str(),
            scenario: key_collisions::scenario(&conversation.scenario, &key_collisions::INSPECT),
            usage: conversation.usage.as_ref(),
            simulator_faults: &conversation.simulator_faults,
            simulator_check: conversation.simulator_check.as_ref(),
            realism: conversation.realism.as_ref(),
            calls: calls.filter(|call| call.by != Asked::Target).collect(),
        }
    }
}

/// An entry of the list of samples.
#[derive(Serialize)]
pub(super) struct EvalSampleSummary<'a> {
    id: &'a str,
    epoch: u64,
    input: Cow<'a, str>,
    target: &'a [&'a str],
    metadata: SummaryMetadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores<'a>>,
    model_usage: &'a ByName,
    role_usage: &'a ByName,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_time: Option<f64>,
    uuid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    completed: bool,
    message_count: usize,
    turn_count: usize,
}

#[derive(Serialize)]
struct SummaryMetadata<'a> {
    conv_id: &'a str,
    sample: u32,
    target_id: &'a str,
    metric_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric_type: Option<MetricType>,
    persona: Cow<'a, str>,
    user_goal: Cow<'a, str>,
    latent_adversarial_goal: Cow<'a, str>,
    demographic: &'a Extra,
    #[serde(flatten)]
    extra: Extra,
}

impl<'a> SummaryMetadata<'a> {
    fn of(conversation: &'a Conversation) -> Self {
        let scenario = &conversation.scenario;
        Self {
            conv_id: &conversation.conv_id,
            sample: conversation.sample,
            target_id: conversation.target.id.as_str(),
            metric_id: &scenario.metric_id,
            metric_name: scenario.metric_name.as_deref(),
            metric_type: scenario.metric_type,
            persona: thin::text(scenario.played_persona()),
            user_goal: thin::text(&scenario.user_goal),
            latent_adversarial_goal: thin::text(&scenario.latent_adversarial_goal),
            demographic: &scenario.demographic,
            extra: thin::extra(&key_collisions::scenario(scenario, &key_collisions::INSPECT).extra),
        }
    }
}
