//! The chat endpoint's JSON: requests, replies and errors in OpenAI's format.

use std::{borrow::Cow, fmt};

use hyper::StatusCode;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};
use sha2::{Digest, Sha256};

use crate::{
    reply::Reply,
    script::Output,
    stats::hex,
    wire_tools::{self, CallOut, WireCall, WireChoice, WireTool},
};

/// A request to the chat endpoint; unknown keys are ignored. Text without escapes is borrowed from the body.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatBody<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) messages: Vec<WireMessage<'a>>,
    #[serde(default)]
    pub(crate) max_tokens: Option<u64>,
    #[serde(default)]
    pub(crate) max_completion_tokens: Option<u64>,
    #[serde(default)]
    pub(crate) n: Option<u64>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    pub(crate) seed: Option<i64>,
    #[serde(default)]
    pub(crate) temperature: Option<f64>,
    #[serde(default)]
    pub(crate) response_format: Option<WireFormat>,
    #[serde(borrow, default)]
    pub(crate) tools: Option<Vec<WireTool<'a>>>,
    #[serde(default)]
    pub(crate) tool_choice: Option<WireChoice>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WireMessage<'a> {
    pub(crate) role: WireRole,
    #[serde(borrow, default)]
    pub(crate) content: WireContent<'a>,
    #[serde(borrow, default)]
    pub(crate) tool_calls: Option<Vec<WireCall<'a>>>,
    #[serde(borrow, default)]
    pub(crate) tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireRole {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
    Tool,
    /// The answer of a function in the older format, which does not name the call.
    Function,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WireFormat {
    #[serde(rename = "type")]
    pub(crate) kind: FormatKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FormatKind {
    Text,
    JsonObject,
    JsonSchema,
}

/// A message's text: a string, a list of parts whose texts are joined, or null.
#[derive(Debug, Default)]
pub(crate) struct WireContent<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for WireContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = WireContent<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string, a list of text parts, or null")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(WireContent(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(WireContent(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(WireContent::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct Part<'a> {
            #[serde(borrow, default)]
            text: Cow<'a, str>,
        }
        let mut joined = String::new();
        while let Some(part) = parts.next_element::<Part<'de>>()? {
            joined.push_str(&part.text);
        }
        Ok(WireContent(Cow::Owned(joined)))
    }
}

impl ChatBody<'_> {
    /// Reads a request body.
    pub(crate) fn read(body: &[u8]) -> Result<ChatBody<'_>, ApiError> {
        let text = std::str::from_utf8(body)
            .map_err(|_| ApiError::invalid("The request body is not valid UTF-8.".to_owned()))?;
        let request: ChatBody<'_> = serde_json::from_str(text).map_err(|error| {
            ApiError::invalid(format!("The request body cannot be read as JSON: {error}"))
        })?;
        if request.model.is_none() {
            return Err(ApiError::invalid(
                "You must provide a model parameter.".to_owned(),
            ));
        }
        if request.messages.is_empty() {
            return Err(ApiError::invalid(
                "'messages' is missing or empty; at least one message is needed.".to_owned(),
            )
            .param("messages"));
        }
        if request.stream == Some(true) {
            return Err(ApiError::invalid(
                "Streaming is not supported here; leave 'stream' out.".to_owned(),
            )
            .param("stream")
            .code("unsupported_value"));
        }
        if request.n.is_some_and(|n| n != 1) {
            return Err(ApiError::invalid("Only n = 1 is supported.".to_owned())
                .param("n")
                .code("unsupported_value"));
        }
        wire_tools::check(&request)?;
        Ok(request)
    }

    /// A hash of everything that the reply depends on: model, seed, roles, texts, tools and calls. The same on every machine.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.model.as_deref().unwrap_or_default());
        hash.update(self.seed.unwrap_or_default().to_le_bytes());
        for message in &self.messages {
            hash.update([message.role as u8]);
            hash.update((message.content.0.len() as u64).to_le_bytes());
            hash.update(message.content.0.as_bytes());
        }
        self.hash_tools(&mut hash);
        hash.finalize().into()
    }

    /// The most tokens that the reply may have.
    pub(crate) fn token_limit(&self) -> Option<u64> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    /// The number of tokens of the whole request.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let texts = self.messages.iter().map(|message| &message.content.0);
        texts.map(|text| 4 + tokens(text)).sum::<u64>() + self.tool_tokens()
    }
}

/// The estimated number of tokens of `text`: one for every four bytes, rounded up.
pub(crate) fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// `text` cut to `limit` tokens, and whether it was cut.
pub(crate) fn cut(text: &str, limit: Option<u64>) -> (&str, bool) {
    let Some(bytes) = limit.and_then(|limit| usize::try_from(limit.saturating_mul(4)).ok()) else {
        return (text, false);
    };
    if text.len() <= bytes {
        return (text, false);
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
    (text.get(..end.unwrap_or(0)).unwrap_or_default(), true)
}

/// A reply body in OpenAI's format. `None` omits a key, or writes null, depending on the field.
#[derive(Debug, Serialize)]
pub(crate) struct Completion<'a> {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created: u64,
    pub(crate) model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) choices: Option<[Choice<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<WireUsage>,
    pub(crate) system_fingerprint: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Choice<'a> {
    pub(crate) index: u32,
    pub(crate) message: Answer<'a>,
    pub(crate) logprobs: Option<()>,
    pub(crate) finish_reason: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    pub(crate) role: &'static str,
    /// `None` is written as null.
    pub(crate) content: Option<&'a str>,
    pub(crate) refusal: Option<()>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<CallOut>,
}

#[derive(Debug, Serialize)]
pub(crate) struct WireUsage {
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) total_tokens: u64,
}

impl<'a> Completion<'a> {
    /// The regular reply to a request: `output`, with its text cut to the request's token limit. Calls after the cut are left
    /// out.
    pub(crate) fn new(
        request: &ChatBody<'_>,
        hash: &[u8; 32],
        model: &'a str,
        output: &'a Output,
    ) -> Self {
        let (content, mut was_cut) = cut(&output.text, request.token_limit());
        let (prompt, mut completion) = (request.prompt_tokens(), tokens(content));
        let id = hex(&hash[..12]);
        let mut calls = Vec::new();
        for (place, (name, arguments)) in output.calls.iter().enumerate() {
            let call = CallOut::new(format!("call_{id}_{place}"), name, arguments);
            let sum = completion + call.tokens();
            was_cut |= request.token_limit().is_some_and(|limit| sum > limit);
            if was_cut {
                break;
            }
            completion = sum;
            calls.push(call);
        }
        let finish_reason = match (was_cut, calls.is_empty()) {
            (true, _) => "length",
            (false, true) => "stop",
            (false, false) => "tool_calls",
        };
        Self {
            id: format!("chatcmpl-{id}"),
            object: "chat.completion",
            // Constant, so that the same request gives the same bytes.
            created: 0,
            model,
            choices: Some([Choice {
                index: 0,
                message: Answer {
                    role: "assistant",
                    content: (calls.is_empty() || !content.is_empty()).then_some(content),
                    refusal: None,
                    tool_calls: calls,
                },
                logprobs: None,
                finish_reason,
            }]),
            usage: Some(WireUsage {
                prompt_tokens: prompt,
                completion_tokens: completion,
                total_tokens: prompt + completion,
            }),
            system_fingerprint: "fp_scripted_1",
        }
    }
}

/// An error in OpenAI's format.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    kind: &'static str,
    message: String,
    param: Option<&'static str>,
    code: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: String) -> Self {
        Self {
            status,
            kind,
            message,
            param: None,
            code: None,
        }
    }

    /// Status 400: the request is invalid.
    pub(crate) fn invalid(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub(crate) fn param(self, param: &'static str) -> Self {
        Self {
            param: Some(param),
            ..self
        }
    }

    pub(crate) fn code(self, code: &'static str) -> Self {
        Self {
            code: Some(code),
            ..self
        }
    }

    /// The error as a reply.
    pub(crate) fn reply(&self) -> Reply {
        let body = serde_json::json!({
            "error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        });
        Reply::json(self.status, body.to_string())
    }
}
