//! Custom answers instead of the scripted models' replies.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::{fault_reply::Played, reply::Reply, wire::ApiError};

/// A request that the function of [`Builder::answer`](crate::Builder::answer) gets.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The requested model. Any name is valid.
    pub model: &'a str,
    /// The number of earlier requests for this model.
    pub number: usize,
    /// The whole body.
    pub body: &'a Value,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    content: String,
    calls: Vec<Value>,
    reasoning: Option<(&'static str, String)>,
    finish: &'static str,
}

impl Answer {
    /// The prompt tokens that every answer with status 200 reports, fixed so that sums are easy to check.
    pub const PROMPT_TOKENS: u64 = 10;
    /// The completion tokens that every answer with status 200 reports.
    pub const COMPLETION_TOKENS: u64 = 2;

    /// A reply with this text.
    #[must_use]
    pub fn says(content: impl Into<String>) -> Self {
        Self::ends(content, "stop")
    }

    /// A reply with this text and this finish reason, such as `length`.
    #[must_use]
    pub fn ends(content: impl Into<String>, finish: &'static str) -> Self {
        Self {
            status: 200,
            content: content.into(),
            calls: Vec::new(),
            reasoning: None,
            finish,
        }
    }

    /// A reply that calls tools: each call with its id, the tool's name and the arguments as text. An empty id is left out, as by
    /// some servers.
    #[must_use]
    pub fn calls<const N: usize>(calls: [(&str, &str, &str); N]) -> Self {
        let call = |(id, name, arguments): (&str, &str, &str)| {
            let mut call = json!({
                "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
            });
            if id.is_empty()
                && let Some(call) = call.as_object_mut()
            {
                call.shift_remove("id");
            }
            call
        };
        Self {
            calls: calls.into_iter().map(call).collect(),
            ..Self::ends("", "tool_calls")
        }
    }

    /// The same reply with this text, for text beside calls.
    #[must_use]
    pub fn saying(self, content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..self
        }
    }

    /// The same reply with reasoning in this field of its message, such as `reasoning_content`.
    #[must_use]
    pub fn reasoning(self, field: &'static str, text: impl Into<String>) -> Self {
        Self {
            reasoning: Some((field, text.into())),
            ..self
        }
    }

    /// An error with this status, counted as a fault. An invalid status becomes 500.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::says("")
        }
    }

    fn played(&self, model: &str) -> Played {
        if self.status != 200 {
            let status =
                StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let message = format!("refused with {status}");
            return Played::Faulty(ApiError::new(status, "server_error", message).reply());
        }
        let (prompt, completion) = (Self::PROMPT_TOKENS, Self::COMPLETION_TOKENS);
        let mut message = json!({"role": "assistant", "content": self.content});
        if let (false, Some(message)) = (self.calls.is_empty(), message.as_object_mut()) {
            message.insert("tool_calls".to_owned(), self.calls.clone().into());
        }
        if let Some((field, text)) = &self.reasoning {
            message[*field] = text.clone().into();
        }
        let body = json!({
            "id": "chatcmpl-own", "object": "chat.completion", "created": 0, "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}],
            "usage": {
                "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
            },
        });
        Played::Regular(Reply::json(StatusCode::OK, body.to_string()))
    }
}

/// The function that answers requests.
pub(crate) type Script = Arc<dyn Fn(Asked<'_>) -> Answer + Send + Sync>;

/// The function, and the number of calls of each model.
pub(crate) struct Scripted {
    script: Script,
    counts: Mutex<HashMap<String, usize>>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Scripted")
    }
}

impl Scripted {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            counts: Mutex::default(),
        }
    }

    /// Answers the request with the body `body`.
    pub(crate) fn play(&self, body: &[u8]) -> Result<Played, ApiError> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            ApiError::invalid(format!("The request body cannot be read as JSON: {error}"))
        })?;
        let model = body["model"].as_str().unwrap_or_default();
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(model.to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        let answer = (self.script)(Asked {
            model,
            number,
            body: &body,
        });
        Ok(answer.played(model))
    }
}
