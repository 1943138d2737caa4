//! A sample of a log as a conversation.

use std::{collections::HashMap, sync::Arc};

use schema::{Extra, FinishReason, PhaseCost, Role, Scenario, Turn};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use super::{
    header::id_text,
    message::{ChatMessage, Messages},
    roles::{Calls, EventsData, Speaker, TARGET},
};
use crate::{
    import::{Found, Recorded, calls, text::known},
    key_collisions,
};

/// A sample as it is read, by who speaks in the log.
pub(super) trait ReadSample: DeserializeOwned {
    /// The sample's conversation, or why it is left out.
    fn found(self, place: &str, speaker: Speaker) -> Result<Found, String>;
}

/// A sample whose messages are the conversation. Its events are not read.
pub(super) type PlainSample = EvalSample<IgnoredAny, IgnoredAny>;

/// A sample whose events say who speaks.
pub(super) type SampleWithCalls = EvalSample<Calls, EventsData>;

/// A sample.
#[derive(Debug, Deserialize)]
pub(super) struct EvalSample<E, D> {
    id: Value,
    #[serde(default)]
    uuid: Option<Value>,
    #[serde(default)]
    epoch: Option<Value>,
    #[serde(default)]
    target: Value,
    #[serde(default)]
    messages: Option<Vec<ChatMessage>>,
    #[serde(default)]
    choices: Option<Vec<Value>>,
    #[serde(default)]
    output: Option<Output>,
    #[serde(default)]
    scores: Option<Extra>,
    #[serde(default)]
    metadata: Option<Extra>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    attachments: Option<HashMap<String, String>>,
    #[serde(default)]
    events: Option<E>,
    #[serde(default)]
    events_data: Option<D>,
}

/// The output of a model.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Output {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    message: Option<ChatMessage>,
    #[serde(default)]
    stop_reason: Option<String>,
}

impl Output {
    /// The reply. Of several, the first one is in the conversation.
    pub(super) fn message(&self) -> Option<&ChatMessage> {
        self.choices.as_ref()?.first()?.message.as_ref()
    }
}

impl ReadSample for PlainSample {
    fn found(self, _: &str, _: Speaker) -> Result<Found, String> {
        Ok(Found::Conversation(Box::new(self.recorded()?)))
    }
}

impl ReadSample for SampleWithCalls {
    fn found(mut self, place: &str, speaker: Speaker) -> Result<Found, String> {
        let left_out = |why: String| {
            let id = id_text(&self.id).unwrap_or_default();
            Ok(Found::LeftOut {
                what: format!("{place}: sample {id:?}"),
                why,
            })
        };
        let calls = self.events.take().unwrap_or_default();
        if speaker == Speaker::ModelAmongRoles {
            return match calls.role_in(self.messages.as_deref().unwrap_or_default()) {
                None => Ok(Found::Conversation(Box::new(self.recorded()?))),
                Some(role) => left_out(format!(
                    "its messages are those of the role `{role}`, and no role is called `{TARGET}`, so whose conversation they are is unclear"
                )),
            };
        }
        let failed = self.error.as_ref().is_some_and(|error| !error.is_null());
        let conversation = calls.target(&self.events_data.take().unwrap_or_default())?;
        let taken_back = match conversation {
            Some(conversation) => {
                self.messages = Some(conversation.messages);
                self.output = Some(conversation.output);
                conversation.taken_back
            }
            // It ended before the target's first reply.
            None if failed => {
                self.messages = None;
                self.output = None;
                0
            }
            None => {
                return left_out(format!(
                    "no reply of the role `{TARGET}` in its events, so whose conversation its messages are is unclear"
                ));
            }
        };
        let recorded = self.recorded()?;
        Ok(Found::Conversation(Box::new(Recorded {
            taken_back,
            ..recorded
        })))
    }
}

impl<E, D> EvalSample<E, D> {
    /// The conversation in its messages.
    fn recorded(self) -> Result<Recorded, String> {
        let sample_id = id_text(&self.id)
            .filter(|id| !id.is_empty())
            .ok_or_else(|| format!("a sample's id is {}; expected text or a number", self.id))?;
        let named = |what: String| format!("sample {sample_id:?}: {what}");
        let repetition = repetition(self.epoch.as_ref()).map_err(named)?;
        let attachments = self.attachments.unwrap_or_default();
        let mut messages = Messages {
            attachments: &attachments,
            not_text: Vec::new(),
        };
        let choices = self.output.and_then(|output| output.choices);
        let choice = choices.and_then(|choices| choices.into_iter().next());
        let (reply, stopped) = choice.map_or((None, None), |one| (one.message, one.stop_reason));
        let mut said = self.messages.unwrap_or_default();
        // A solver may set the output of a sample and add no message.
        if !said.iter().any(ChatMessage::is_reply) {
            said.extend(reply.filter(ChatMessage::says_something));
        }
        let mut turns = Vec::new();
        for message in said {
            turns.push(messages.turn(message).map_err(named)?);
        }
        calls::link(&mut turns);
        let not_text = messages.not_text;
        let (system_prompt, mut transcript) = split_system(turns);
        mark_cut_off(&mut transcript, stopped.as_deref());
        let mut metadata = self.metadata.unwrap_or_default();
        if let Some(choices) = self.choices.filter(|choices| !choices.is_empty()) {
            metadata.entry("choices").or_insert(choices.into());
        }
        let mut recorded = Recorded {
            uuid: self.uuid.as_ref().and_then(id_text),
            repetition,
            system_prompt,
            transcript,
            error: self.error.filter(|error| !error.is_null()).map(error_text),
            reference: self.target,
            scores: scores(self.scores.unwrap_or_default()),
            metadata,
            not_text,
            ..Recorded::default()
        };
        own(&mut recorded);
        recorded.check();
        recorded.sample_id = sample_id;
        Ok(recorded)
    }
}

/// Epochs count from 1.
fn repetition(epoch: Option<&Value>) -> Result<u32, String> {
    let Some(epoch) = epoch.filter(|epoch| !epoch.is_null()) else {
        return Ok(0);
    };
    let number = epoch.as_u64().filter(|number| *number > 0);
    number
        .and_then(|number| u32::try_from(number - 1).ok())
        .ok_or_else(|| format!("the epoch is {epoch}; expected 1 or more"))
}

/// Splits the turns into the leading system messages and the rest.
pub(in crate::import) fn split_system(turns: Vec<Turn>) -> (Option<Arc<str>>, Vec<Turn>) {
    let mut prompts: Vec<Arc<str>> = Vec::new();
    let mut rest = Vec::with_capacity(turns.len());
    for turn in turns {
        if turn.role == Role::System && rest.is_empty() {
            prompts.push(turn.content);
        } else {
            rest.push(turn);
        }
    }
    let prompt = match prompts.as_slice() {
        [] => None,
        [one] => Some(Arc::clone(one)),
        several => Some(several.join("\n\n").into()),
    };
    (prompt, rest)
}

/// Marks the last reply as cut off if the sample's output says so and the turn has no other reason.
fn mark_cut_off(transcript: &mut [Turn], stopped: Option<&str>) {
    let reason = match stopped {
        Some("max_tokens" | "model_length") => FinishReason::Length,
        Some("content_filter") => FinishReason::ContentFilter,
        _ => return,
    };
    if let Some(last) = transcript.last_mut()
        && last.role == Role::Assistant
    {
        last.finish_reason.get_or_insert(reason);
    }
}

fn error_text(error: Value) -> String {
    let said = error.get("message").and_then(Value::as_str);
    match (said, &error) {
        (Some(said), _) => said.to_owned(),
        (None, Value::String(said)) => said.clone(),
        (None, other) => other.to_string(),
    }
}

/// The scores by name, as a list.
fn scores(scores: Extra) -> Vec<Value> {
    let named = |(name, score): (String, Value)| {
        let mut object = Extra::new();
        object.insert("name".to_owned(), name.into());
        match score {
            Value::Object(score) => object.extend(known(score, &["history"])),
            other => {
                object.insert("value".to_owned(), other);
            }
        }
        Value::Object(object)
    };
    scores.into_iter().map(named).collect()
}

/// Moves what Probity wrote out of the metadata.
fn own(recorded: &mut Recorded) {
    let metadata = &recorded.metadata;
    if !["id", "metric_id", "conv_id", "target_id"]
        .iter()
        .all(|key| metadata.get(*key).is_some_and(Value::is_string))
    {
        return;
    }
    let mut scenario = metadata.clone();
    scenario.retain(|key, _| !key_collisions::INSPECT.contains(&key.as_str()));
    for key in key_collisions::INSPECT {
        if let Some(value) = scenario.remove(&key_collisions::of_scenario(key)) {
            scenario.insert(key.to_owned(), value);
        }
    }
    let Ok(scenario) = serde_json::from_value::<Scenario>(Value::Object(scenario)) else {
        return;
    };
    let sample = metadata.get("sample").and_then(Value::as_u64);
    if let Some(sample) = sample.and_then(|sample| u32::try_from(sample).ok()) {
        recorded.repetition = sample;
    }
    recorded.usage = metadata
        .get("usage")
        .and_then(|usage| serde_json::from_value::<PhaseCost>(usage.clone()).ok());
    recorded.scenario = Some(scenario);
    recorded.metadata = Extra::new();
}
