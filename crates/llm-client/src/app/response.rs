//! What a response says: the reply, or an error.

use reqwest::header::HeaderMap;
use schema::{FinishReason, ToolCall, Usage, text::is_blank};
use serde_json::{Map, Value, json};

use super::{
    AppErrorKind, ErrorRule, HttpAppSettings, StreamSettings,
    stream::{self, Streamed},
    template::{Names, Templates, Text, Variable},
};
use crate::{ReplyBody, ReplySteps};

/// The names in templates over a response.
pub(super) const RESPONSE_NAMES: [&str; 3] = ["response", "status", "headers"];

/// A response, as pointers and templates see it and as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Map<String, Value>,
    /// The body: JSON, a text, or the last event of a stream.
    pub(super) body: Value,
    /// The joined text of a stream.
    pub(super) text: Option<String>,
}

/// Where a value of the response is.
#[derive(Clone, Debug)]
enum Pick {
    Pointer(String),
    Template(Text),
}

/// Where the parts of a reply are.
#[derive(Debug)]
pub(super) struct Picks {
    reply: Option<Pick>,
    messages: Option<Pick>,
    reasoning: Option<Pick>,
    tool_calls: Option<Pick>,
    finish: Option<Pick>,
    input_tokens: Option<Pick>,
    output_tokens: Option<Pick>,
    cost: Option<Pick>,
    model: Option<Pick>,
}

/// What an application's error is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AppError {
    pub(super) kind: AppErrorKind,
    pub(super) reason: String,
}

impl AppError {
    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self {
            kind: AppErrorKind::Malformed,
            reason: reason.into(),
        }
    }
}

impl Response {
    /// Reads the body `text` that came with these headers. `stream`: how, if it is a stream.
    pub(super) fn new(
        status: u16,
        headers: &HeaderMap,
        text: &str,
        stream: Option<&StreamSettings>,
    ) -> Result<Self, AppError> {
        let headers = headers.iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), Value::from(value)))
        });
        let mut response = Self {
            status,
            headers: headers.collect(),
            body: json_or_text(text),
            text: None,
        };
        if let Some(stream) = stream {
            let Streamed { last, text } = stream::read(text, stream)?;
            response.body = last;
            response.text = Some(text);
        }
        Ok(response)
    }

    /// The form that is journaled and stored.
    pub(super) fn to_json(&self) -> Value {
        match &self.text {
            None => json!({"status": self.status, "body": self.body}),
            Some(text) => json!({"status": self.status, "body": self.body, "text": text}),
        }
    }

    /// The response that [`to_json`](Self::to_json) stored. Its headers are not stored.
    pub(super) fn stored(value: &Value) -> Option<Self> {
        Some(Self {
            status: u16::try_from(value.get("status")?.as_u64()?).ok()?,
            headers: Map::new(),
            body: value.get("body")?.clone(),
            text: value.get("text").and_then(Value::as_str).map(str::to_owned),
        })
    }

    fn names(&self) -> Names {
        let mut names = Names::new();
        names.insert("response".to_owned(), self.body.clone());
        names.insert("status".to_owned(), self.status.into());
        names.insert("headers".to_owned(), self.headers.clone().into());
        names
    }

    /// The error that the response is, by the rules and then by its status.
    pub(super) fn error(&self, settings: &HttpAppSettings) -> Option<AppError> {
        if let Some(rule) = settings.errors.iter().find(|rule| self.fits(rule)) {
            return Some(AppError {
                kind: rule.kind,
                reason: self.reason(rule.message.as_deref().or(rule.pointer.as_deref())),
            });
        }
        if is_good(self.status, settings) {
            return None;
        }
        Some(AppError {
            kind: match self.status {
                429 => AppErrorKind::RateLimited,
                408 | 425 | 500..=599 => AppErrorKind::Retryable,
                _ => AppErrorKind::Permanent,
            },
            reason: self.reason(None),
        })
    }

    fn fits(&self, rule: &ErrorRule) -> bool {
        let at = || {
            let pointer = rule.pointer.as_deref()?;
            self.body.pointer(pointer).filter(|value| !value.is_null())
        };
        let has_condition = rule.status.is_some() || rule.pointer.is_some();
        has_condition
            && rule.status.is_none_or(|status| status == self.status)
            && (rule.pointer.is_none() || at().is_some())
            && rule.equals.as_ref().is_none_or(|value| at() == Some(value))
    }

    /// The message at `pointer`, else the body.
    fn reason(&self, pointer: Option<&str>) -> String {
        let found = pointer.and_then(|pointer| self.body.pointer(pointer));
        match found.unwrap_or(&self.body) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Whether a status is good.
pub(super) fn is_good(status: u16, settings: &HttpAppSettings) -> bool {
    match settings.ok.as_slice() {
        [] => (200..300).contains(&status),
        ok => ok.contains(&status),
    }
}

/// A body as JSON; one that is not JSON is a text.
pub(super) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

impl Picks {
    /// # Errors
    /// What is wrong with one of them, with its place.
    pub(super) fn new(
        settings: &HttpAppSettings,
        templates: &mut Templates,
        variable: &Variable<'_>,
    ) -> Result<Self, String> {
        let mut pick = |place: &str, source: &Option<String>| {
            let Some(source) = source else {
                return Ok(None);
            };
            if source.is_empty() || source.starts_with('/') {
                return Ok(Some(Pick::Pointer(source.clone())));
            }
            if !source.contains("{{") {
                return Err(format!(
                    "{place}: {source:?} is neither a JSON pointer such as /answer/text nor a template such as {{{{ response.text }}}}"
                ));
            }
            templates
                .text(place, source, variable)
                .map(|text| Some(Pick::Template(text)))
        };
        let usage = settings.usage.as_ref();
        let tokens = |of: fn(&super::UsagePointers) -> &String| usage.map(of).cloned();
        Ok(Self {
            reply: pick("reply", &settings.reply)?,
            messages: pick("messages", &settings.messages)?,
            reasoning: pick("reasoning", &settings.reasoning)?,
            tool_calls: pick("tool_calls", &settings.tool_calls)?,
            finish: pick("finish", &settings.finish)?,
            input_tokens: pick("usage.input_tokens", &tokens(|usage| &usage.input_tokens))?,
            output_tokens: pick("usage.output_tokens", &tokens(|usage| &usage.output_tokens))?,
            cost: pick("cost", &settings.cost)?,
            model: pick("model", &settings.model)?,
        })
    }

    /// The reply in `response`.
    ///
    /// # Errors
    /// When its text is not where it should be.
    pub(super) fn read(
        &self,
        response: &Response,
        templates: &Templates,
    ) -> Result<ReplyBody, AppError> {
        let names = response.names();
        let find = |pick: &Option<Pick>| -> Option<Value> {
            let value = match pick.as_ref()? {
                Pick::Pointer(pointer) => response.body.pointer(pointer).cloned(),
                Pick::Template(text) => templates.value(text, &names).ok().flatten(),
            };
            value.filter(|value| !value.is_null())
        };
        let text = |pick: &Option<Pick>| match find(pick)? {
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        let count = |pick: &Option<Pick>| find(pick)?.as_u64();
        let tool_calls = match find(&self.tool_calls) {
            None => Vec::new(),
            Some(calls) => tool_calls(&calls)?,
        };
        let reply = || match (&self.reply, &response.text) {
            (Some(_), _) => text(&self.reply),
            (None, joined) => joined.clone(),
        };
        let ReplySteps { steps, content } = match find(&self.messages) {
            Some(messages) => own_steps(messages).map_err(AppError::malformed)?,
            None => ReplySteps {
                steps: Vec::new(),
                content: match reply() {
                    Some(content) => content,
                    None if !tool_calls.is_empty() => String::new(),
                    None => {
                        let place = self.reply_place();
                        return Err(AppError::malformed(format!("there is no reply at {place}")));
                    }
                },
            },
        };
        let finish = match text(&self.finish) {
            Some(reason) if !is_blank(&reason) => FinishReason::from(reason),
            _ if !tool_calls.is_empty() => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        let usage = match (count(&self.input_tokens), count(&self.output_tokens)) {
            (None, None) => None,
            (input, output) => Some(Usage {
                input_tokens: input.unwrap_or_default(),
                output_tokens: output.unwrap_or_default(),
                ..Usage::default()
            }),
        };
        let cost = find(&self.cost).and_then(|cost| cost.as_f64());
        Ok(ReplyBody {
            content,
            reasoning: text(&self.reasoning),
            returned_reasoning: None,
            tool_calls,
            steps,
            finish,
            usage,
            cost: cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
            model: text(&self.model),
            called: None,
        })
    }

    fn reply_place(&self) -> &str {
        match self.reply.as_ref().or(self.messages.as_ref()) {
            Some(Pick::Pointer(pointer)) => pointer,
            Some(Pick::Template(Text::Expression(source) | Text::Template(source))) => source,
            _ => "`reply`",
        }
    }
}

/// What follows the user's last message, where the application returns the messages before it, too.
fn own_steps(messages: Value) -> Result<ReplySteps, String> {
    let Value::Array(mut messages) = messages else {
        return ReplySteps::read(&messages);
    };
    let is_of_user = |message: &Value| message.get("role").is_some_and(|role| role == "user");
    let before = messages.iter().rposition(is_of_user).map_or(0, |at| at + 1);
    ReplySteps::read(&messages.split_off(before).into())
}

/// Calls of tools: `{id, name, arguments}`, or the form of OpenAI. Arguments are an object, or its text.
fn tool_calls(calls: &Value) -> Result<Vec<ToolCall>, AppError> {
    let calls = calls
        .as_array()
        .ok_or_else(|| AppError::malformed("tool_calls: expected a list"))?;
    let read = |(at, call): (usize, &Value)| {
        let of = call.get("function").unwrap_or(call);
        let name = of.get("name").and_then(Value::as_str).ok_or_else(|| {
            AppError::malformed(format!("tool_calls[{at}]: expected id, name and arguments"))
        })?;
        let arguments = match of.get("arguments") {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let id = call.get("id").and_then(Value::as_str);
        Ok(ToolCall {
            id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
            name: name.to_owned(),
            arguments,
        })
    };
    calls.iter().enumerate().map(read).collect()
}
