//! One call in a journal: its request and its reply.

use interop::{Asked, Call};
use schema::{
    EventBody, Extra, JsonText, Purpose, Spend, Usage,
    event::{Exception, ModelException, ModelReply, SutReply},
    reasoning::{self, ReasoningOpening},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// A call of an item to any model.
#[derive(Default)]
pub(super) struct Exchange<'e> {
    /// The model's id.
    pub(super) model: &'e str,
    turn: Option<u32>,
    step: Option<u32>,
    /// Whether the reply came from the cache.
    pub(super) cached: bool,
    run_time: Option<f64>,
    request: Option<&'e JsonText>,
    response: Option<&'e JsonText>,
    spend: Option<&'e Spend>,
    /// Why the call failed.
    pub(super) exception: Option<&'e Exception>,
}

/// The role of the model: the simulated user, or a judge of conversations.
fn user_or_judge(purpose: &str) -> Asked {
    match Purpose::is_of_conversation_judge(purpose) {
        true => Asked::ConversationJudge,
        false => Asked::User,
    }
}

impl<'e> Exchange<'e> {
    /// The call that `event` of the system under test `sut` records, and the role of the model. `None` for an event that is not a call,
    /// sums up several calls, or repeats a reply of an earlier run.
    pub(super) fn of(event: &'e EventBody, sut: &'e str) -> Option<(Asked, Self)> {
        Some(match event {
            EventBody::FetchedSutTurn(reply) | EventBody::FetchedSutResponse(reply) => {
                (Asked::Target, Self::of_target(reply, sut, false)?)
            }
            EventBody::UsingCachedSutTurn(reply) | EventBody::UsingCachedSutResponse(reply) => {
                (Asked::Target, Self::of_target(reply, sut, true)?)
            }
            EventBody::SutException(failed) => {
                let call = Self {
                    model: sut,
                    turn: failed.turn,
                    step: failed.step,
                    spend: failed.spend.as_ref(),
                    exception: Some(&failed.exception),
                    ..Self::default()
                };
                (Asked::Target, call)
            }
            EventBody::FetchedUserResponse(reply) => {
                (user_or_judge(&reply.purpose), Self::of_model(reply, false))
            }
            EventBody::UsingCachedUserResponse(reply) => {
                (user_or_judge(&reply.purpose), Self::of_model(reply, true))
            }
            EventBody::UserException(failed) => {
                (user_or_judge(&failed.purpose), Self::failed(failed))
            }
            EventBody::FetchedToolResponse(reply) => (Asked::Tool, Self::of_model(reply, false)),
            EventBody::UsingCachedToolResponse(reply) => (Asked::Tool, Self::of_model(reply, true)),
            EventBody::ToolException(failed) => (Asked::Tool, Self::failed(failed)),
            other => (Asked::Judge, Self::of_judge(other)?),
        })
    }

    fn of_target(reply: &'e SutReply, sut: &'e str, cached: bool) -> Option<Self> {
        (reply.turns.is_none() && reply.source.is_none()).then(|| Self {
            model: sut,
            turn: reply.turn,
            step: reply.step,
            cached,
            run_time: reply.run_time.or(reply.original_run_time),
            request: reply.request.as_ref(),
            response: reply.response.as_ref(),
            spend: reply.spend.as_ref(),
            exception: None,
        })
    }

    fn of_model(reply: &'e ModelReply, cached: bool) -> Self {
        Self {
            model: &reply.model,
            turn: reply.turn,
            cached,
            run_time: reply.run_time.or(reply.original_run_time),
            request: Some(&reply.request),
            response: Some(&reply.response),
            spend: Some(&reply.spend),
            ..Self::default()
        }
    }

    fn failed(failed: &'e ModelException) -> Self {
        Self {
            model: &failed.model,
            turn: failed.turn,
            spend: Some(&failed.spend),
            exception: Some(&failed.exception),
            ..Self::default()
        }
    }

    fn of_judge(event: &'e EventBody) -> Option<Self> {
        match event {
            EventBody::FetchedAnnotatorTurn(reply) | EventBody::FetchedAnnotatorResponse(reply) => {
                reply.turns.is_none().then(|| Self {
                    model: &reply.annotator,
                    run_time: reply.run_time,
                    request: reply.request.as_ref(),
                    response: reply.response.as_ref(),
                    spend: reply.spend.as_ref(),
                    ..Self::default()
                })
            }
            EventBody::UsingCachedAnnotatorTurn(reply)
            | EventBody::UsingCachedAnnotatorResponse(reply) => {
                reply.turns.is_none().then(|| Self {
                    model: &reply.annotator,
                    cached: true,
                    run_time: reply.original_run_time,
                    request: reply.annotator_request.as_ref(),
                    response: reply.response.as_ref(),
                    spend: reply.spend.as_ref(),
                    ..Self::default()
                })
            }
            EventBody::AnnotatorException(failed) => Some(Self {
                model: &failed.annotator,
                spend: failed.spend.as_ref(),
                exception: Some(&failed.exception),
                ..Self::default()
            }),
            _ => None,
        }
    }

    /// The call in the form of exports.
    pub(super) fn to_call(&self, by: Asked) -> Call {
        let reply = Reply::of(self.response);
        let spend = self.spend.copied().unwrap_or_default();
        let used = Usage {
            input_tokens: spend.input_tokens,
            cached_input_tokens: spend.cached_input_tokens,
            cache_write_tokens: spend.cache_write_tokens,
            output_tokens: spend.output_tokens,
            reasoning_tokens: spend.reasoning_tokens,
        };
        let error = self.exception.and_then(|failed| failed.message.as_ref());
        Call {
            by,
            metric_id: None,
            tool_call_id: None,
            model: self.model.to_owned(),
            turn: self.turn.unwrap_or_default(),
            step: self.step.unwrap_or_default(),
            cached: self.cached,
            run_time: self.run_time,
            request_id: reply.id,
            answered_by: reply.model,
            finish_reason: reply.finish_reason,
            reasoning: reply.reasoning,
            usage: (used != Usage::default()).then_some(used),
            cost: spend.total_cost().filter(|_| spend.calls > 0),
            error: error.and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// The first message of the request, if its role is `system`.
    pub(super) fn system_prompt(&self) -> Option<String> {
        let first = self.messages().into_iter().next();
        let first = first.filter(|message| message.role == "system")?;
        first.content.as_str().map(str::to_owned)
    }

    /// The messages of the request.
    pub(super) fn messages(&self) -> Vec<RequestMessage> {
        #[derive(Deserialize)]
        struct Request {
            messages: Vec<RequestMessage>,
        }
        let request = parse::<Request>(self.request);
        request.map_or_else(Vec::new, |request| request.messages)
    }

    /// The name of the model in the request.
    pub(super) fn requested_model(&self) -> Option<String> {
        let request = parse::<Extra>(self.request)?;
        request.get("model")?.as_str().map(str::to_owned)
    }

    /// The body of the request without the fields that vary from call to call.
    pub(super) fn settings(&self) -> Extra {
        let mut settings = parse::<Extra>(self.request).unwrap_or_default();
        for key in [
            "messages",
            "model",
            "response_format",
            "stream",
            "stream_options",
        ] {
            settings.shift_remove(key);
        }
        settings
    }
}

fn parse<T: DeserializeOwned>(text: Option<&JsonText>) -> Option<T> {
    serde_json::from_str(text?.get()).ok()
}

/// A message of a request.
#[derive(Deserialize)]
pub(super) struct RequestMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Value,
}

/// The parts of a response body that exports contain.
#[derive(Default)]
struct Reply {
    id: Option<String>,
    model: Option<String>,
    finish_reason: Option<String>,
    reasoning: Option<String>,
}

impl Reply {
    fn of(response: Option<&JsonText>) -> Self {
        let Some(body) = parse::<Body>(response) else {
            return Self::default();
        };
        let text = |value: &Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let choice = body.choices.into_iter().next().unwrap_or_default();
        let message = choice.message.unwrap_or_default();
        let apart = text(&message.reasoning_content).or_else(|| text(&message.reasoning));
        Self {
            id: text(&body.id),
            model: text(&body.model),
            finish_reason: text(&choice.finish_reason),
            reasoning: apart.or_else(|| opening(message.content.as_str()?)),
        }
    }
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Default, Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Value,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    reasoning_content: Value,
    #[serde(default)]
    reasoning: Value,
}

/// The reasoning block at the beginning of a reply.
fn opening(content: &str) -> Option<String> {
    let split = reasoning::split(content, ReasoningOpening::Reply, false);
    split.reasoning.map(str::to_owned)
}
