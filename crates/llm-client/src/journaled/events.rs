//! The events of a call.

use std::sync::Arc;

use schema::{
    ChatReply, ChatRequest, Event, Exchange, Field, ModelError, ModelErrorKind, ModelId, Origin,
    Purpose, RawField,
};
use serde_json::{Value, json};

const CLASS: &str = "Journaled";
const METHOD: &str = "chat";

/// Who was asked, in the journal's words.
#[derive(Clone, Copy)]
enum Part {
    /// The system under test.
    Sut,
    /// A judge.
    Annotator,
    /// The simulated user.
    User,
    /// The model that answers in the place of a tool.
    Tool,
    /// Generation of metrics and scenarios, and everything else.
    Generator,
    /// A check whether an endpoint answers.
    Probe,
}

impl Part {
    fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::TargetTurn => Self::Sut,
            Purpose::Judge => Self::Annotator,
            Purpose::UserTurn => Self::User,
            Purpose::ToolAnswer => Self::Tool,
            Purpose::Probe => Self::Probe,
            _ => Self::Generator,
        }
    }

    fn fetched(self) -> &'static str {
        match self {
            Self::Sut => "fetched sut response",
            Self::Annotator => "fetched annotator response",
            Self::User => "fetched user response",
            Self::Tool => "fetched tool response",
            Self::Generator => "fetched generator response",
            Self::Probe => "fetched probe response",
        }
    }

    fn cached(self) -> &'static str {
        match self {
            Self::Sut => "using cached sut response",
            Self::Annotator => "using cached annotator response",
            Self::User => "using cached user response",
            Self::Tool => "using cached tool response",
            Self::Generator | Self::Probe => "using cached generator response",
        }
    }

    fn exception(self) -> &'static str {
        match self {
            Self::Sut => "sut exception",
            Self::Annotator => "annotator exception",
            Self::User => "user exception",
            Self::Tool => "tool exception",
            Self::Generator => "generator exception",
            Self::Probe => "probe exception",
        }
    }
}

/// An event with what tells the call apart from others.
fn begin(message: &'static str, part: Part, model: &ModelId, request: &ChatRequest) -> Event {
    let context = &request.context;
    let event = Event::new(message, CLASS, METHOD).item(context.item.as_ref());
    match part {
        Part::Sut => {
            let event = event.with("turn", context.turn);
            match context.step {
                0 => event,
                step => event.with("step", step),
            }
        }
        Part::Annotator => event.with("annotator", model),
        Part::User | Part::Tool | Part::Generator | Part::Probe => {
            let event = event
                .with("model", model)
                .with("purpose", context.purpose.as_str())
                .with("row", Arc::clone(&context.row));
            match context.turn {
                0 => event,
                turn => event.with("turn", turn),
            }
        }
    }
}

/// The event of a reply.
pub(super) fn reply(model: &ModelId, request: &ChatRequest, reply: &ChatReply) -> Event {
    let part = Part::of(request.context.purpose);
    let (sent, received) = raw(request, reply);
    match reply.origin {
        Origin::Fetched => begin(part.fetched(), part, model, request)
            .with("run_time", reply.run_time.as_secs_f64())
            .with("request", sent)
            .with("response", received)
            .with("spend", reply.spend()),
        Origin::Cached => {
            let name = match part {
                Part::Annotator => "annotator_request",
                _ => "request",
            };
            let event = begin(part.cached(), part, model, request)
                .with(name, sent)
                .with("response", received)
                .with("spend", reply.spend());
            match reply.run_time.is_zero() {
                true => event,
                false => event.with("original_run_time", reply.run_time.as_secs_f64()),
            }
        }
    }
}

/// Request and response as they went over the wire; for a model that has no wire, as they are.
fn raw(request: &ChatRequest, reply: &ChatReply) -> (Field, Field) {
    match &reply.exchange {
        Some(exchange) => {
            let share = |part: fn(Arc<Exchange>) -> RawField| part(Arc::clone(exchange)).into();
            (share(RawField::Request), share(RawField::Response))
        }
        None => (
            json!({"messages": request.messages}).into(),
            Value::from(reply.content.as_str()).into(),
        ),
    }
}

/// The event of a call that failed for good, or was not made at all.
pub(super) fn failure(model: &ModelId, request: &ChatRequest, error: &ModelError) -> Event {
    let context = &request.context;
    let kind = error.kind();
    if matches!(kind, ModelErrorKind::OverBudget | ModelErrorKind::Cancelled) {
        return Event::new("call not made", CLASS, METHOD)
            .item(context.item.as_ref())
            .with("model", model)
            .with("purpose", context.purpose.as_str())
            .with("row", Arc::clone(&context.row))
            .with("reason", kind.as_str())
            .with("text", error.to_string())
            .with("spend", *error.spend());
    }
    let part = Part::of(context.purpose);
    let exception = json!({
        "class": "schema::ModelError",
        "message": error.to_string(),
        "kind": kind.as_str(),
        "attempts": error.attempts(),
    });
    begin(part.exception(), part, model, request)
        .with("exception", exception)
        .with("spend", *error.spend())
}
