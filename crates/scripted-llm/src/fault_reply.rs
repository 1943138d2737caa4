//! Applies a fault.

use std::time::{Duration, SystemTime};

use hyper::{
    StatusCode,
    header::{HeaderValue, RETRY_AFTER},
};
use serde_json::Value;

use crate::{
    Fault, FaultKind, Parameter,
    reply::Reply,
    script::Output,
    wire::{ApiError, ChatBody, Completion, FormatKind},
};

/// The answer to a call.
#[derive(Debug)]
pub(crate) enum Played {
    /// The regular reply.
    Regular(Reply),
    /// A reply with a fault.
    Faulty(Reply),
    /// No answer.
    Silence,
}

/// The limit prevents a mistyped size from using up the memory.
const MOST_MEGABYTES: usize = 1024;

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\
    <body><h1>502 Bad Gateway</h1><p>nginx</p></body></html>\n";

/// Applies `fault`. `output` is the regular reply, `completion` converts it to the API's format. Faults of the text drop the
/// calls.
pub(crate) fn play<'a>(
    fault: &Fault,
    request: &ChatBody<'_>,
    output: &'a Output,
    completion: impl Fn(&'a Output) -> Completion<'a>,
) -> Result<Played, serde_json::Error> {
    let reply = match &fault.kind {
        FaultKind::Hang => return Ok(Played::Silence),
        FaultKind::Slow(_) => return Ok(Played::Regular(ok(&completion(output))?)),
        FaultKind::Status { .. } | FaultKind::Html | FaultKind::ErrorBody => failing(&fault.kind),
        FaultKind::Unsupported(parameter) => unsupported(*parameter, request).reply(),
        FaultKind::NoChoices => ok(&Completion {
            choices: None,
            ..completion(output)
        })?,
        FaultKind::NoUsage => ok(&Completion {
            usage: None,
            ..completion(output)
        })?,
        FaultKind::NullContent => ok(&without_content(completion(output)))?,
        FaultKind::TruncatedJson => {
            let mut reply = ok(&completion(output))?;
            reply.body.truncate(reply.body.len() / 2);
            reply
        }
        FaultKind::InvalidUtf8 => invalid_utf8(ok(&completion(output))?),
        FaultKind::Reset => Reply {
            cut: true,
            ..ok(&completion(output))?
        },
        text_fault => {
            let text = changed(text_fault, &output.text);
            return with_text(text, request, &completion(output));
        }
    };
    Ok(Played::Faulty(reply))
}

/// The reply that comes instead of what a request about batches does; none where the fault breaks the regular reply.
pub(crate) fn instead(fault: &Fault) -> Option<Reply> {
    match &fault.kind {
        kind @ (FaultKind::Status { .. } | FaultKind::Html | FaultKind::ErrorBody) => {
            Some(failing(kind))
        }
        _ => None,
    }
}

/// The reply to a request about batches, broken by a fault that lets it be done.
pub(crate) async fn broken(fault: &Fault, mut reply: Reply) -> Reply {
    tokio::time::sleep(fault.delay()).await;
    match fault.kind {
        FaultKind::Hang => std::future::pending().await,
        FaultKind::Reset => reply.cut = true,
        FaultKind::TruncatedJson => reply.body.truncate(reply.body.len() / 2),
        _ => {}
    }
    reply
}

fn ok(completion: &Completion<'_>) -> Result<Reply, serde_json::Error> {
    Ok(Reply::json(StatusCode::OK, serde_json::to_vec(completion)?))
}

/// The reply with another text. `like` supplies the keys that do not depend on the text.
fn with_text(
    text: String,
    request: &ChatBody<'_>,
    like: &Completion<'_>,
) -> Result<Played, serde_json::Error> {
    let output = Output::from(text);
    let mut completion = Completion::new(request, &[0; 32], like.model, &output);
    completion.id.clone_from(&like.id);
    Ok(Played::Faulty(ok(&completion)?))
}

fn without_content(mut completion: Completion<'_>) -> Completion<'_> {
    for choice in completion.choices.iter_mut().flatten() {
        choice.message.content = None;
    }
    completion
}

/// Statuses and bodies without any part of the regular reply.
fn failing(kind: &FaultKind) -> Reply {
    match kind {
        FaultKind::Status {
            status,
            headers,
            retry_at,
            body,
        } => {
            let mut reply = match body {
                Some(body) => Reply::json(*status, body.clone()),
                None => status_error(*status).reply(),
            };
            reply.headers.extend(headers.iter().cloned());
            if let Some(date) = retry_at.and_then(date_header) {
                reply.headers.push((RETRY_AFTER, date));
            }
            reply
        }
        FaultKind::Html => Reply {
            content_type: "text/html; charset=utf-8",
            ..Reply::json(StatusCode::OK, PAGE)
        },
        _ => Reply {
            status: StatusCode::OK,
            ..status_error(StatusCode::SERVICE_UNAVAILABLE).reply()
        },
    }
}

/// The date `after` from now, rounded up because such dates have whole seconds.
fn date_header(after: Duration) -> Option<HeaderValue> {
    let at = SystemTime::now().checked_add(after + Duration::from_millis(999))?;
    HeaderValue::try_from(httpdate::fmt_http_date(at)).ok()
}

/// The error of OpenAI and compatible servers for a status.
pub(crate) fn status_error(status: StatusCode) -> ApiError {
    let (kind, code, message) = match status.as_u16() {
        401 => (
            "invalid_request_error",
            "invalid_api_key",
            "Incorrect API key provided.",
        ),
        403 => (
            "permission_error",
            "permission_denied",
            "This key may not use this model.",
        ),
        404 => (
            "invalid_request_error",
            "model_not_found",
            "The model does not exist.",
        ),
        429 => (
            "rate_limit_error",
            "rate_limit_exceeded",
            "Rate limit reached; try again later.",
        ),
        400..=499 => (
            "invalid_request_error",
            "bad_request",
            "The request was refused.",
        ),
        503 => (
            "server_error",
            "overloaded",
            "The server is overloaded; try again later.",
        ),
        _ => ("server_error", "server_error", "The server had an error."),
    };
    ApiError::new(status, kind, message.to_owned()).code(code)
}

fn unsupported(parameter: Parameter, request: &ChatBody<'_>) -> ApiError {
    let (param, code, message) = match parameter {
        Parameter::MaxTokens => (
            "max_tokens",
            "unsupported_parameter",
            "Unsupported parameter: 'max_tokens' is not supported with this model. \
             Use 'max_completion_tokens' instead.",
        ),
        Parameter::MaxCompletionTokens => (
            "max_completion_tokens",
            "unknown_parameter",
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        Parameter::JsonSchema | Parameter::ResponseFormat => (
            "response_format",
            "unsupported_value",
            match request.response_format.as_ref().map(|format| format.kind) {
                Some(FormatKind::JsonObject) => {
                    "Invalid parameter: 'response_format' of type 'json_object' is not supported with this model."
                }
                _ => {
                    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
                }
            },
        ),
        Parameter::Temperature => (
            "temperature",
            "unsupported_value",
            "Unsupported value: 'temperature' does not support this value with this model. \
             Only the default (1) value is supported.",
        ),
        Parameter::Seed => (
            "seed",
            "unsupported_parameter",
            "Unsupported parameter: 'seed' is not supported with this model.",
        ),
    };
    ApiError::invalid(message.to_owned())
        .param(param)
        .code(code)
}

/// Inserts two bytes that are not UTF-8 at the start of the content.
fn invalid_utf8(mut reply: Reply) -> Reply {
    const MARK: &[u8] = b"\"content\":\"";
    let at = reply.body.windows(MARK.len()).position(|part| part == MARK);
    let (before, after) = reply.body.split_at(at.map_or(0, |at| at + MARK.len()));
    reply.body = [before, b"\xff\xfe", after].concat().into();
    reply
}

/// The regular text, changed by a text fault.
fn changed(kind: &FaultKind, content: &str) -> String {
    match kind {
        FaultKind::Big { megabytes } => {
            const LINE: &str = "This line is here to make the reply long. ";
            let length = megabytes.min(&MOST_MEGABYTES) << 20;
            let mut text = LINE.repeat(length.div_ceil(LINE.len()));
            text.truncate(length);
            text
        }
        FaultKind::Says(text) => text.clone(),
        FaultKind::Prose => prose(content),
        FaultKind::Fenced => format!("```json\n{content}\n```"),
        FaultKind::Think => {
            format!(
                "<think>\nFirst idea: {{\"present\": null}}. Better to read again.\n</think>\n\n{content}"
            )
        }
        FaultKind::WrongType => edited(content, |object| {
            let boolean = object.iter().position(|(_, value)| value.is_boolean());
            let place = boolean
                .or_else(|| object.iter().position(|(_, value)| value.is_array()))
                .or_else(|| object.iter().position(|(_, value)| value.is_number()));
            if let Some(value) = place.and_then(|place| object.values_mut().nth(place)) {
                *value = Value::String(value.to_string());
            }
        }),
        FaultKind::MissingKey => edited(content, |object| {
            if let Some(key) = object.keys().next().cloned() {
                object.shift_remove(&key);
            }
        }),
        _ => String::new(),
    }
}

fn prose(content: &str) -> String {
    let verdict = serde_json::from_str::<Value>(content)
        .ok()
        .and_then(|value| value.get("present").and_then(Value::as_bool));
    match verdict {
        Some(true) => "Having read the whole conversation, I would say that yes, it is there.",
        Some(false) => "Having read the whole conversation, I would say that no, it is not there.",
        None => "Of course, I will gladly help with that. Let me think about what would fit best.",
    }
    .to_owned()
}

/// `content` with its JSON object changed; unchanged if it contains none.
fn edited(content: &str, edit: impl FnOnce(&mut serde_json::Map<String, Value>)) -> String {
    match serde_json::from_str(content) {
        Ok(Value::Object(mut object)) => {
            edit(&mut object);
            Value::Object(object).to_string()
        }
        _ => content.to_owned(),
    }
}
