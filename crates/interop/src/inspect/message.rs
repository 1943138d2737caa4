//! The messages of a conversation as Inspect's chat messages.

use std::io;

use schema::{Extra, FinishReason, Role, Turn};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    tools::{self, CallError, error_of},
    usage::{ModelUsage, wire_name},
};
use crate::{
    Call, Run, Sample,
    places::{MessagePosition, places},
};

/// One chat message.
#[derive(Serialize)]
struct ChatMessage<'a> {
    id: String,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    role: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<tools::Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "MessageMetadata::is_empty")]
    metadata: MessageMetadata<'a>,
}

/// Plain text, or reasoning and text.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts([Part<'a>; 2]),
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Part<'a> {
    Reasoning { reasoning: &'a str },
    Text { text: &'a str },
}

/// The unusual facts about a message. The facts about its call are elsewhere, so that the viewer's pages remain readable: those of
/// the target's calls in their events, those of the user model's calls in the sample's metadata.
#[derive(Clone, Debug, Default, Serialize)]
struct MessageMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'a Extra>,
}

impl MessageMetadata<'_> {
    fn is_empty(&self) -> bool {
        self.finish_reason.is_none() && self.extra.is_none()
    }
}

/// A message as JSON: a sample contains it several times, so it is serialized once.
pub(crate) type Message = Box<RawValue>;

/// The whole conversation, beginning with the target's system prompt. `uuid` is the sample's: message ids begin with it.
pub(crate) fn messages(run: &Run, sample: &Sample, uuid: &str) -> io::Result<Vec<Message>> {
    let turns = &sample.conversation.transcript;
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if let Some(prompt) = &sample.system_prompt {
        messages.push(to_raw_value(&ChatMessage {
            id: format!("{uuid}-0"),
            content: Content::Text(prompt),
            source: Some("input"),
            role: Role::System.as_str(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            function: None,
            error: None,
            model: None,
            metadata: MessageMetadata::default(),
        })?);
    }
    for (at, (place, said)) in places(turns).enumerate() {
        let id = message_id(uuid, at);
        messages.push(to_raw_value(&message(run, sample, said, place, id))?);
    }
    Ok(messages)
}

/// The id of the message at `at` in the transcript.
pub(super) fn message_id(uuid: &str, at: usize) -> String {
    format!("{uuid}-{}", at + 1)
}

fn message<'a>(
    run: &'a Run,
    sample: &'a Sample,
    said: &'a Turn,
    place: MessagePosition,
    id: String,
) -> ChatMessage<'a> {
    let target = said.role == Role::Assistant;
    let tool = said.role == Role::Tool;
    let call = sample.reply_call(said, place);
    let thought = said
        .reasoning
        .as_deref()
        .or_else(|| call?.reasoning.as_deref());
    let content = match thought {
        Some(reasoning) => Content::Parts([
            Part::Reasoning { reasoning },
            Part::Text {
                text: &said.content,
            },
        ]),
        None => Content::Text(&said.content),
    };
    ChatMessage {
        id,
        content,
        source: match said.role {
            Role::Assistant => Some("generate"),
            // The first message is the sample's input; a model wrote the later ones as answers.
            Role::User if place.turn == 1 => Some("input"),
            _ => None,
        },
        role: said.role.as_str(),
        tool_calls: said.tool_calls.iter().map(tools::Call::of).collect(),
        tool_call_id: said.tool_call_id.as_deref().filter(|_| tool),
        function: said.name.as_deref().filter(|_| tool),
        error: tool.then(|| error_of(&said.content)).flatten(),
        model: target.then(|| target_name(run)),
        metadata: MessageMetadata {
            finish_reason: said.finish_reason.as_ref().map(FinishReason::as_str),
            extra: (!said.extra.is_empty()).then_some(&said.extra),
        },
    }
}

/// The name of the model under test.
pub(super) fn target_name(run: &Run) -> &str {
    wire_name(&run.target.model, run.target.id.as_str())
}

/// One reply of the target.
#[derive(Debug, Serialize)]
pub(super) struct ModelOutput<'a> {
    model: &'a str,
    choices: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<ModelUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    message: &'a RawValue,
    stop_reason: &'static str,
}

impl<'a> ModelOutput<'a> {
    /// The output for `said`, which is in the log as `message`. Readers find its text there.
    pub(super) fn of(
        run: &'a Run,
        call: Option<&'a Call>,
        said: &'a Turn,
        message: &'a RawValue,
    ) -> Self {
        Self {
            model: call
                .and_then(|call| call.answered_by.as_deref())
                .unwrap_or_else(|| target_name(run)),
            choices: vec![Choice {
                message,
                stop_reason: stop_reason(said),
            }],
            completion: None,
            usage: call.and_then(|call| Some(ModelUsage::of(call.usage?, call.cost))),
            time: call.and_then(|call| call.run_time),
            response_id: call.and_then(|call| call.request_id.as_deref()),
        }
    }

    /// The output including its text, as required for the last output of a sample.
    pub(super) fn with_text(mut self, said: &'a Turn) -> Self {
        self.completion = Some(&said.content);
        self
    }

    /// The output of a conversation that does not end with a message of the target.
    pub(super) fn none(run: &'a Run) -> Self {
        Self {
            model: target_name(run),
            choices: Vec::new(),
            completion: Some(""),
            usage: None,
            time: None,
            response_id: None,
        }
    }
}

/// Inspect's name for the reason why a reply ended.
fn stop_reason(said: &Turn) -> &'static str {
    match &said.finish_reason {
        None if !said.tool_calls.is_empty() => "tool_calls",
        None | Some(FinishReason::Stop) => "stop",
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::ContentFilter) => "content_filter",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::Other(_)) => "unknown",
    }
}
