//! The events of a call. The journal calls a judge an annotator and the target the system under test (SUT).

use std::sync::Arc;

use schema::{
    CallContext, ChatReply, ChatRequest, Event, EventBody, JsonText, ModelError, ModelErrorKind,
    ModelId, Origin, Purpose,
    event::{
        AnnotatorException, AnnotatorReply, CachedAnnotatorReply, CallNotMade, Exception,
        ModelException, ModelReply, SutException, SutReply,
    },
};
use serde_json::json;

/// The event of a reply.
pub(super) fn reply(model: &ModelId, request: &ChatRequest, reply: &ChatReply) -> Event {
    let (sent, received) = raw(request, reply);
    let context = &request.context;
    let fetched = reply.origin == Origin::Fetched;
    let seconds = reply.run_time.as_secs_f64();
    let run_time = fetched.then_some(seconds);
    let original_run_time = (!fetched && !reply.run_time.is_zero()).then_some(seconds);
    let body = match context.purpose {
        Purpose::TargetTurn if context.caller.is_none() => {
            let reply = SutReply {
                turn: Some(context.turn),
                step: nonzero(context.step),
                run_time,
                request: Some(sent),
                response: Some(received),
                spend: Some(reply.spend()),
                original_run_time,
                ..SutReply::default()
            };
            match fetched {
                true => EventBody::FetchedSutResponse(reply),
                false => EventBody::UsingCachedSutResponse(reply),
            }
        }
        Purpose::Judge if fetched && context.caller.is_none() => {
            EventBody::FetchedAnnotatorResponse(AnnotatorReply {
                annotator: model.shared(),
                run_time,
                request: Some(sent),
                response: Some(received),
                spend: Some(reply.spend()),
                ..AnnotatorReply::default()
            })
        }
        Purpose::Judge if context.caller.is_none() => {
            EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator: model.shared(),
                annotator_request: Some(sent),
                response: Some(received),
                spend: Some(reply.spend()),
                original_run_time,
                ..CachedAnnotatorReply::default()
            })
        }
        purpose => {
            let reply = ModelReply {
                model: model.shared(),
                purpose: purpose.as_str().into(),
                row: Arc::clone(&context.row),
                turn: nonzero(context.turn),
                run_time,
                request: sent,
                shared: None,
                response: received,
                spend: reply.spend(),
                original_run_time,
                turns: None,
                kept: None,
                caller: caller(context),
            };
            match (purpose, fetched) {
                _ if context.caller.is_some() && fetched => EventBody::FetchedHostResponse(reply),
                _ if context.caller.is_some() => EventBody::UsingCachedHostResponse(reply),
                (Purpose::UserTurn | Purpose::UserJudge | Purpose::Realism, true) => {
                    EventBody::FetchedUserResponse(reply)
                }
                (Purpose::UserTurn | Purpose::UserJudge | Purpose::Realism, false) => {
                    EventBody::UsingCachedUserResponse(reply)
                }
                (Purpose::ToolAnswer, true) => EventBody::FetchedToolResponse(reply),
                (Purpose::ToolAnswer, false) => EventBody::UsingCachedToolResponse(reply),
                (Purpose::Probe, true) => EventBody::FetchedProbeResponse(reply),
                (_, true) => EventBody::FetchedGeneratorResponse(reply),
                (_, false) => EventBody::UsingCachedGeneratorResponse(reply),
            }
        }
    };
    Event::new(body)
}

/// The name of the program that makes the call.
fn caller(context: &CallContext) -> Option<Arc<str>> {
    let caller = context.caller.as_ref();
    caller.map(|caller| Arc::clone(&caller.name))
}

fn nonzero(n: u32) -> Option<u32> {
    (n > 0).then_some(n)
}

/// Request and response as sent over the wire; for a model without a wire format, as Probity has them.
fn raw(request: &ChatRequest, reply: &ChatReply) -> (JsonText, JsonText) {
    match &reply.exchange {
        Some(exchange) => (exchange.request.clone(), exchange.response.clone()),
        None => (
            JsonText::of(&json!({"messages": request.messages})),
            JsonText::of(&reply.content),
        ),
    }
}

/// The event of a call that failed for good, or was not made.
pub(super) fn failure(model: &ModelId, request: &ChatRequest, error: &ModelError) -> Event {
    let context = &request.context;
    let body = match error.kind() {
        ModelErrorKind::OverBudget | ModelErrorKind::Cancelled => {
            EventBody::CallNotMade(CallNotMade {
                model: model.shared(),
                purpose: context.purpose.as_str().into(),
                row: Arc::clone(&context.row),
                reason: error.kind().as_str().into(),
                text: error.to_string(),
                spend: *error.spend(),
            })
        }
        _ => exception(model, request, error),
    };
    Event::new(body)
}

fn exception(model: &ModelId, request: &ChatRequest, error: &ModelError) -> EventBody {
    let context = &request.context;
    let exception = Exception {
        class: Some("schema::ModelError".into()),
        message: Some(error.to_string().into()),
        kind: Some(error.kind().as_str().into()),
        attempts: Some(error.attempts()),
        refused: error.is_refusal(),
    };
    let spend = *error.spend();
    match context.purpose {
        Purpose::TargetTurn if context.caller.is_none() => EventBody::SutException(SutException {
            turn: Some(context.turn),
            step: nonzero(context.step),
            exception,
            spend: Some(spend),
        }),
        Purpose::Judge if context.caller.is_none() => {
            EventBody::AnnotatorException(AnnotatorException {
                annotator: model.shared(),
                exception,
                spend: Some(spend),
            })
        }
        purpose => {
            let failed = ModelException {
                model: model.shared(),
                purpose: purpose.as_str().into(),
                row: Arc::clone(&context.row),
                turn: nonzero(context.turn),
                exception,
                spend,
                caller: caller(context),
            };
            match purpose {
                _ if context.caller.is_some() => EventBody::HostException(failed),
                Purpose::UserTurn | Purpose::UserJudge | Purpose::Realism => {
                    EventBody::UserException(failed)
                }
                Purpose::ToolAnswer => EventBody::ToolException(failed),
                Purpose::Probe => EventBody::ProbeException(failed),
                _ => EventBody::GeneratorException(failed),
            }
        }
    }
}
