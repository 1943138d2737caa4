//! Streams of events, read when they have ended.

use serde_json::Value;

use super::{
    AppErrorKind, EventMatch, StreamFormat, StreamSettings,
    response::{AppError, json_or_text},
};

/// What a stream says.
pub(super) struct Streamed {
    /// The data of the last event.
    pub(super) last: Value,
    /// The joined text.
    pub(super) text: String,
}

struct StreamEvent {
    name: String,
    data: String,
}

/// Reads the events of `body`.
///
/// # Errors
/// The error that an event is, or that the stream was cut off.
pub(super) fn read(body: &str, settings: &StreamSettings) -> Result<Streamed, AppError> {
    let events = match settings.format {
        StreamFormat::Sse => sse(body),
        StreamFormat::Ndjson => ndjson(body),
    };
    let mut streamed = Streamed {
        last: Value::Null,
        text: String::new(),
    };
    let mut is_done = settings.done.is_none();
    for event in events {
        let data = json_or_text(&event.data);
        if let Some(error) = settings.error.as_ref().filter(|of| is(&event, of)) {
            let message = error
                .message
                .as_deref()
                .and_then(|pointer| data.pointer(pointer)?.as_str());
            return Err(AppError {
                kind: AppErrorKind::Retryable,
                reason: message.unwrap_or(&event.data).to_owned(),
            });
        }
        if settings.done.as_ref().is_some_and(|of| is(&event, of)) {
            is_done = true;
            if data.is_object() {
                streamed.last = data;
            }
            break;
        }
        if settings.events.is_empty() || settings.events.contains(&event.name) {
            let text = data.pointer(&settings.text).and_then(Value::as_str);
            streamed.text.push_str(text.unwrap_or_default());
        }
        streamed.last = data;
    }
    match is_done {
        true => Ok(streamed),
        false => Err(AppError {
            kind: AppErrorKind::Retryable,
            reason: "the stream ended before its last event: the reply is cut off".to_owned(),
        }),
    }
}

fn is(event: &StreamEvent, of: &EventMatch) -> bool {
    let named = of.event.as_ref().is_none_or(|name| *name == event.name);
    let says = of
        .data
        .as_ref()
        .is_none_or(|data| data.trim() == event.data.trim());
    named && says && (of.event.is_some() || of.data.is_some())
}

/// Server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). An event that no blank line ends was cut off.
fn sse(body: &str) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    let (mut name, mut data) = (String::new(), Vec::new());
    for line in body.lines() {
        if line.is_empty() {
            if !data.is_empty() {
                let name = std::mem::take(&mut name);
                events.push(StreamEvent {
                    name: if name.is_empty() {
                        "message".to_owned()
                    } else {
                        name
                    },
                    data: data.join("\n"),
                });
            }
            name.clear();
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => data.push(value),
            _ => {}
        }
    }
    events
}

fn ndjson(body: &str) -> Vec<StreamEvent> {
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let event = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let name = value.get("event").or_else(|| value.get("type"));
        StreamEvent {
            name: name.and_then(Value::as_str).unwrap_or("message").to_owned(),
            data: line.to_owned(),
        }
    };
    lines.map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> StreamSettings {
        StreamSettings {
            events: vec!["token".to_owned()],
            text: "/delta".to_owned(),
            done: Some(EventMatch {
                event: Some("end".to_owned()),
                ..EventMatch::default()
            }),
            error: Some(EventMatch {
                event: Some("error".to_owned()),
                message: Some("/message".to_owned()),
                ..EventMatch::default()
            }),
            ..StreamSettings::default()
        }
    }

    #[test]
    fn the_text_of_events_is_joined() {
        let body = ": hello\nevent: token\ndata: {\"delta\": \"Wa\"}\n\nevent: note\ndata: {\"delta\": \"no\"}\n\n\
                    event: token\r\ndata: {\"delta\":\r\ndata:  \"it.\"}\r\n\r\nevent: end\ndata: {\"tokens\": 3}\n\n";
        let read = read(body, &settings()).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(read.text, "Wait.");
        assert_eq!(read.last, serde_json::json!({"tokens": 3}));
    }

    #[test]
    fn a_stream_without_its_last_event_is_cut_off() {
        let body = "event: token\ndata: {\"delta\": \"Wa\"}\n\nevent: end\ndata: {}";
        let error = read(body, &settings()).err().map(|error| error.kind);
        assert_eq!(error, Some(AppErrorKind::Retryable));
        let body = "event: error\ndata: {\"message\": \"too busy\"}\n\n";
        let error = read(body, &settings()).err().map(|error| error.reason);
        assert_eq!(error.as_deref(), Some("too busy"));
    }

    #[test]
    fn lines_of_json_are_events() {
        let stream = StreamSettings {
            format: StreamFormat::Ndjson,
            ..settings()
        };
        let body = "{\"type\":\"token\",\"delta\":\"a\"}\n\n{\"type\":\"token\",\"delta\":\"b\"}\n{\"type\":\"end\"}\n";
        assert_eq!(
            read(body, &stream).map(|read| read.text).ok().as_deref(),
            Some("ab")
        );
    }
}
