//! The messages of a conversation as Inspect's chat messages.

use schema::{Extra, FinishReason, Role, Turn};
use serde::Serialize;

use super::usage::{ModelUsage, wire_name};
use crate::{Asked, Call, Run, Sample};

/// One chat message.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChatMessage<'a> {
    id: String,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "MessageMetadata::is_empty")]
    metadata: MessageMetadata<'a>,
}

/// Plain text, or thinking and text.
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

/// What is known of the call that a message came from.
#[derive(Clone, Debug, Default, Serialize)]
struct MessageMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<ModelUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'a Extra>,
}

impl MessageMetadata<'_> {
    fn is_empty(&self) -> bool {
        self.finish_reason.is_none()
            && self.seconds.is_none()
            && self.request_id.is_none()
            && self.cached.is_none()
            && self.usage.is_none()
            && self.extra.is_none()
    }
}

/// The whole conversation, the target's system prompt first. `uuid` is the sample's: ids of messages begin with it.
pub(super) fn messages<'a>(run: &'a Run, sample: &'a Sample, uuid: &str) -> Vec<ChatMessage<'a>> {
    let turns = &sample.conversation.transcript;
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if let Some(prompt) = &sample.system_prompt {
        messages.push(ChatMessage {
            id: format!("{uuid}-0"),
            content: Content::Text(prompt),
            source: Some("input"),
            role: Role::System.as_str(),
            model: None,
            metadata: MessageMetadata::default(),
        });
    }
    let mut turn = 0;
    for (at, said) in turns.iter().enumerate() {
        if said.role == Role::User {
            turn += 1;
        }
        messages.push(message(
            run,
            sample,
            said,
            turn,
            format!("{uuid}-{}", at + 1),
        ));
    }
    messages
}

fn message<'a>(
    run: &'a Run,
    sample: &'a Sample,
    said: &'a Turn,
    turn: u32,
    id: String,
) -> ChatMessage<'a> {
    let call = match said.role {
        Role::User => last_answer(sample, Asked::User, turn),
        Role::Assistant => sample.reply(turn),
        Role::System | Role::Tool => None,
    };
    let target = said.role == Role::Assistant;
    // Only of the model under test is thinking part of the conversation.
    let thought = call.and_then(|call| call.reasoning.as_deref());
    let content = match thought.filter(|_| target) {
        Some(reasoning) => Content::Parts([
            Part::Reasoning { reasoning },
            Part::Text {
                text: &said.content,
            },
        ]),
        None => Content::Text(&said.content),
    };
    // What is known of a call of the target stands in its event.
    let asked = call.filter(|_| !target);
    ChatMessage {
        id,
        content,
        source: match said.role {
            Role::Assistant => Some("generate"),
            // The first message is the sample's input; the later ones a model wrote in answer.
            Role::User if turn == 1 => Some("input"),
            _ => None,
        },
        role: said.role.as_str(),
        model: target.then(|| target_name(run)),
        metadata: MessageMetadata {
            finish_reason: said.finish_reason.as_ref().map(FinishReason::as_str),
            seconds: asked.and_then(|call| call.run_time),
            request_id: asked.and_then(|call| call.request_id.as_deref()),
            cached: asked.map(|call| call.cached).filter(|cached| *cached),
            usage: asked.and_then(|call| Some(ModelUsage::of(call.usage?, call.cost))),
            extra: (!said.extra.is_empty()).then_some(&said.extra),
        },
    }
}

/// The call that gave a message of `by` in `turn`.
fn last_answer(sample: &Sample, by: Asked, turn: u32) -> Option<&Call> {
    let mut calls = sample.calls.iter().rev();
    calls.find(|call| call.by == by && call.turn == turn && call.error.is_none())
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
    completion: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<ModelUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    message: ChatMessage<'a>,
    stop_reason: &'static str,
}

impl<'a> ModelOutput<'a> {
    /// The output that `said` is, which stands in the log as `message`.
    pub(super) fn of(
        run: &'a Run,
        call: Option<&'a Call>,
        said: &'a Turn,
        message: &ChatMessage<'a>,
    ) -> Self {
        Self {
            model: call
                .and_then(|call| call.answered_by.as_deref())
                .unwrap_or_else(|| target_name(run)),
            choices: vec![Choice {
                message: message.clone(),
                stop_reason: stop_reason(said.finish_reason.as_ref()),
            }],
            completion: &said.content,
            usage: call.and_then(|call| Some(ModelUsage::of(call.usage?, call.cost))),
            time: call.and_then(|call| call.run_time),
            response_id: call.and_then(|call| call.request_id.as_deref()),
        }
    }

    /// The output of a conversation that does not end on the target's message.
    pub(super) fn none(run: &'a Run) -> Self {
        Self {
            model: target_name(run),
            choices: Vec::new(),
            completion: "",
            usage: None,
            time: None,
            response_id: None,
        }
    }
}

/// Inspect's word for why a reply ended.
fn stop_reason(reason: Option<&FinishReason>) -> &'static str {
    match reason {
        None | Some(FinishReason::Stop) => "stop",
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::ContentFilter) => "content_filter",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::Other(_)) => "unknown",
    }
}
