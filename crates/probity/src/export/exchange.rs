//! One call in a journal: its request and its reply.

use interop::{Asked, Call};
use journal::{CallEnding, CallRole};
use schema::{
    EventBody, Extra, JsonText, Usage,
    reasoning::{self, ReasoningOpening},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// A call of an item to any model.
pub(super) struct Exchange<'e>(journal::Call<'e>);

impl<'e> Exchange<'e> {
    /// The call that `event` of the system under test `sut` records, and the role of the model. `None` for an event that is not a call,
    /// sums up several calls, or repeats a reply of an earlier run.
    pub(super) fn of(event: &'e EventBody, sut: &'e str) -> Option<(Asked, Self)> {
        let call = journal::Call::of(event, sut).filter(|call| call.source.is_none())?;
        let by = match call.role {
            CallRole::Sut => Asked::Target,
            CallRole::User => Asked::User,
            CallRole::ConversationJudge => Asked::ConversationJudge,
            CallRole::Tool => Asked::Tool,
            CallRole::Annotator => Asked::Judge,
            CallRole::Generator | CallRole::Probe => return None,
        };
        Some((by, Self(call)))
    }

    /// The model's id.
    pub(super) fn model(&self) -> &'e str {
        self.0.model
    }

    /// Whether the reply came from the cache.
    pub(super) fn is_cached(&self) -> bool {
        self.0.is_cached()
    }

    /// Whether the call failed.
    pub(super) fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// The call in the form of exports.
    pub(super) fn to_call(&self, by: Asked) -> Call {
        let reply = Reply::of(self.0.response);
        let spend = self.0.spend.copied().unwrap_or_default();
        let used = Usage {
            input_tokens: spend.input_tokens,
            cached_input_tokens: spend.cached_input_tokens,
            cache_write_tokens: spend.cache_write_tokens,
            output_tokens: spend.output_tokens,
            reasoning_tokens: spend.reasoning_tokens,
        };
        let error = match self.0.ending {
            CallEnding::Failed(exception) => exception.message.as_ref(),
            CallEnding::Fetched | CallEnding::Cached => None,
        };
        Call {
            by,
            metric_id: None,
            tool_call_id: None,
            model: self.0.model.to_owned(),
            turn: self.0.turn.unwrap_or_default(),
            step: self.0.step.unwrap_or_default(),
            cached: self.is_cached(),
            run_time: self.0.run_time,
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
        let request = parse::<Request>(self.0.request);
        request.map_or_else(Vec::new, |request| request.messages)
    }

    /// The name of the model in the request.
    pub(super) fn requested_model(&self) -> Option<String> {
        let request = parse::<Extra>(self.0.request)?;
        request.get("model")?.as_str().map(str::to_owned)
    }

    /// The body of the request without the fields that vary from call to call.
    pub(super) fn settings(&self) -> Extra {
        let mut settings = parse::<Extra>(self.0.request).unwrap_or_default();
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
