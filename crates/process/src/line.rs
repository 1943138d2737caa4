//! One line of a program's output.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::{ErrorKind, ProcessError};

/// The longest id of a program's call, in characters.
const LONGEST_ID: usize = 64;
/// The longest message of an error, in characters.
const LONGEST_MESSAGE: usize = 4000;

/// What a line is.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Nothing.
    Blank,
    /// A print: no message at all.
    Noise,
    /// It looks like a message and is none.
    Broken(&'static str),
    /// A reply to the request `id`.
    Reply {
        id: u64,
        outcome: Result<Value, ProcessError>,
    },
    /// A reply to something that is not a request of the host.
    Stray,
    /// A call of the program.
    Call {
        id: String,
        method: String,
        params: Map<String, Value>,
    },
    /// A notification.
    Notice {
        method: String,
        params: Map<String, Value>,
    },
}

/// Reads a line.
pub(crate) fn read(line: &[u8]) -> Line {
    let text = line.trim_ascii();
    if text.is_empty() {
        return Line::Blank;
    }
    // `{'a': 1}` and `{ a: 1 }` are prints, no messages.
    let begins = text
        .strip_prefix(b"{")
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""));
    if !begins {
        return Line::Noise;
    }
    let Ok(Value::Object(mut message)) = serde_json::from_slice::<Value>(text) else {
        return Line::Broken("a line that begins with {\" and is not JSON");
    };
    let params = |message: &mut Map<String, Value>| match message.remove("params") {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    if let Some(method) = message
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned)
    {
        return match message.remove("id") {
            None | Some(Value::Null) => Line::Notice {
                method,
                params: params(&mut message),
            },
            Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= LONGEST_ID => {
                Line::Call {
                    id,
                    method,
                    params: params(&mut message),
                }
            }
            Some(_) => Line::Broken("the id of a call: expected a text of 1 to 64 characters"),
        };
    }
    if !message.contains_key("result")
        && !message.contains_key("error")
        && !message.contains_key("id")
    {
        return Line::Broken("an object that is no message");
    }
    match message.get("id") {
        None | Some(Value::Null) => Line::Broken("a reply without an id"),
        Some(id) => match id.as_u64() {
            Some(id) => Line::Reply {
                id,
                outcome: outcome(&mut message),
            },
            None => Line::Stray,
        },
    }
}

fn outcome(message: &mut Map<String, Value>) -> Result<Value, ProcessError> {
    let is_null = |value: &Value| value.is_null();
    let result = message.remove("result");
    let error = message.remove("error").filter(|error| !is_null(error));
    match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(error_of(&error)),
        _ => Err(ProcessError::new(
            ErrorKind::Malformed,
            "the reply has to have one of result and error",
        )),
    }
}

fn error_of(error: &Value) -> ProcessError {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let message: String = text("message")
        .unwrap_or("an error without a message")
        .chars()
        .take(LONGEST_MESSAGE)
        .collect();
    let after = error.get("retry_after_s").and_then(Value::as_f64);
    ProcessError {
        kind: ErrorKind::of(text("kind").unwrap_or_default()),
        message,
        retry_after: after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        is_seen: error.get("seen").and_then(Value::as_bool) != Some(false),
        is_final: error.get("final").and_then(Value::as_bool) == Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_they_look_like() {
        for noise in [
            "hello",
            "{'a': 1}",
            "{}",
            "{ a: 1 }",
            "[1]",
            "\u{feff}{\"id\":1}",
        ] {
            assert_eq!(read(noise.as_bytes()), Line::Noise, "{noise}");
        }
        for broken in [
            "{\"id\":1,",
            "{\"a\":1}",
            "{\"result\":1}",
            "{\"id\":7,\"method\":\"chat\"}",
            "{\"\u{0}",
        ] {
            assert!(
                matches!(read(broken.as_bytes()), Line::Broken(_)),
                "{broken}"
            );
        }
        assert_eq!(read(b" \r"), Line::Blank);
        assert_eq!(read(b"{\"id\":\"x\",\"result\":1}"), Line::Stray);
        let reply = read(b"{ \"id\": 7, \"result\": null}\r");
        assert_eq!(
            reply,
            Line::Reply {
                id: 7,
                outcome: Ok(Value::Null)
            }
        );
        let Line::Reply { outcome: Err(error), .. } =
            read(b"{\"id\":7,\"error\":{\"kind\":\"rate_limited\",\"message\":\"slow\",\"retry_after_s\":1.5,\"seen\":false}}")
        else {
            panic!("no error");
        };
        assert_eq!((error.kind, error.is_seen), (ErrorKind::RateLimited, false));
        assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    }
}
