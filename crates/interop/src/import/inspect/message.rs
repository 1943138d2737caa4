//! Inspect's chat messages as turns.

use std::{collections::HashMap, sync::Arc};

use schema::{Extra, FinishReason, Role, ToolCall, Turn, text::is_blank};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::import::text::json_text;

/// The prefix of a reference to a text in the sample's attachments.
const ATTACHMENT: &str = "attachment://";

/// One chat message.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::import) struct ChatMessage {
    #[serde(default)]
    pub(in crate::import) id: Option<String>,
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    function: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    metadata: Option<Value>,
}

impl ChatMessage {
    /// Whether a model said it.
    pub(in crate::import) fn is_reply(&self) -> bool {
        self.role == "assistant"
    }

    /// Whether it has a text, other content, or a call of a tool.
    pub(super) fn says_something(&self) -> bool {
        let has_content = match &self.content {
            Value::Null => false,
            Value::String(text) => !is_blank(text),
            Value::Array(parts) => !parts.is_empty(),
            _ => true,
        };
        has_content
            || self
                .tool_calls
                .as_ref()
                .is_some_and(|calls| !calls.is_empty())
    }
}

/// Converts messages to turns, and resolves their references.
pub(in crate::import) struct Messages<'a> {
    pub(in crate::import) attachments: &'a HashMap<String, String>,
    /// The kinds of parts that are not text.
    pub(in crate::import) not_text: Vec<&'static str>,
}

impl Messages<'_> {
    /// Converts a message to a turn.
    pub(in crate::import) fn turn(&mut self, message: ChatMessage) -> Result<Turn, String> {
        let role = match message.role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => {
                return Err(format!("a message has the unknown role {other:?}"));
            }
        };
        let mut turn = Turn::new(role, self.text(&message.content)?);
        if role == Role::Assistant {
            turn.reasoning = self.reasoning(&message.content);
            for call in message.tool_calls.iter().flatten() {
                turn.tool_calls.push(self.call(call)?);
            }
        }
        if role == Role::Tool {
            turn.tool_call_id = message.tool_call_id.map(Arc::from);
            turn.name = message.function.map(Arc::from);
            if let (true, Some(error)) = (is_blank(&turn.content), &message.error) {
                let said = error
                    .get("message")
                    .and_then(Value::as_str)
                    .map_or_else(|| error.to_string(), str::to_owned);
                turn.content = json!({ "error": self.resolved(&said) }).to_string().into();
            }
        }
        if let Some(metadata) = &message.metadata {
            own_keys(&mut turn, metadata);
        }
        Ok(turn)
    }

    fn resolved<'t>(&'t self, text: &'t str) -> &'t str {
        let found = text
            .strip_prefix(ATTACHMENT)
            .and_then(|name| self.attachments.get(name));
        found.map_or(text, String::as_str)
    }

    /// The reasoning of a message: its reasoning parts, one per line. Encrypted parts are left out.
    fn reasoning(&self, content: &Value) -> Option<Arc<str>> {
        let parts = content
            .as_array()?
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str) == Some("reasoning"))
            .filter(|part| part.get("redacted") != Some(&Value::Bool(true)));
        let texts: Vec<&str> = parts
            .filter_map(|part| part.get("reasoning")?.as_str())
            .map(|text| self.resolved(text))
            .collect();
        let text = texts.join("\n");
        (!text.is_empty()).then(|| text.into())
    }

    /// The text of a message: its text parts, one per line. Reasoning is kept separately: no judge sees it.
    fn text(&mut self, content: &Value) -> Result<Arc<str>, String> {
        let parts = match content {
            Value::Null => return Ok("".into()),
            Value::String(text) => return Ok(self.resolved(text).into()),
            Value::Array(parts) => parts,
            other => {
                return Err(format!(
                    "a message's content is {other}; expected text or a list"
                ));
            }
        };
        let mut texts: Vec<String> = Vec::new();
        for part in parts {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            let note = match kind {
                "text" => {
                    let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                    texts.push(self.resolved(text).to_owned());
                    continue;
                }
                "reasoning" => continue,
                "image" => "image",
                "audio" => "audio",
                "video" => "video",
                "document" => "document",
                "tool_use" => "tool use",
                _ => "data",
            };
            self.not_text.push(note);
            texts.push(match part.get("name").and_then(Value::as_str) {
                Some(name) if kind == "tool_use" => format!("[{note} {name}]"),
                _ => format!("[{note}]"),
            });
        }
        Ok(texts.join("\n").into())
    }

    /// A call in the format of Inspect or of the OpenAI API.
    fn call(&self, call: &Value) -> Result<ToolCall, String> {
        let function = call.get("function");
        let (name, arguments) = match function {
            Some(Value::String(name)) => (Some(name.as_str()), call.get("arguments")),
            Some(other) => (
                other.get("name").and_then(Value::as_str),
                other.get("arguments"),
            ),
            None => (None, None),
        };
        let name = name.ok_or("a call of a tool names no function")?;
        let id = call.get("id").and_then(Value::as_str);
        Ok(ToolCall {
            id: id.unwrap_or_default().to_owned(),
            name: name.to_owned(),
            arguments: self.arguments(arguments.unwrap_or(&Value::Null), call.get("parse_error")),
        })
    }

    /// The arguments as a text. If they could not be parsed, `given` is empty.
    fn arguments(&self, given: &Value, parse_error: Option<&Value>) -> String {
        let lost = given.is_null() || given.as_object().is_some_and(Extra::is_empty);
        if let (true, Some(parse_error_text)) = (lost, parse_error.and_then(Value::as_str)) {
            return unparsed(self.resolved(parse_error_text));
        }
        match given {
            Value::Null => String::new(),
            Value::String(text) => self.resolved(text).to_owned(),
            Value::Object(map) => json_text(&Value::Object(self.all_resolved(map))),
            other => json_text(other),
        }
    }

    fn all_resolved(&self, map: &Extra) -> Extra {
        let resolve = |value: &Value| match value {
            Value::String(text) => Value::from(self.resolved(text)),
            other => other.clone(),
        };
        map.iter()
            .map(|(key, value)| (key.clone(), resolve(value)))
            .collect()
    }
}

/// The arguments that could not be parsed, from the note that Inspect or Probity wrote about them; the whole note if it has another form.
fn unparsed(parse_error_text: &str) -> String {
    let by_inspect = parse_error_text
        .strip_prefix("Error parsing the following tool call arguments:\n\n")
        .and_then(|rest| rest.rsplit_once("\n\nError details: "));
    if let Some((arguments, _)) = by_inspect {
        return arguments.to_owned();
    }
    by_probity(parse_error_text)
        .unwrap_or(parse_error_text)
        .to_owned()
}

/// The latest start of the arguments in the text, in bytes: the reason before them is short.
const FARTHEST: usize = 300;

/// The arguments after the reason why they are invalid.
fn by_probity(parse_error_text: &str) -> Option<&str> {
    let mut ends = parse_error_text
        .match_indices(": ")
        .map(|(at, _)| at)
        .take_while(|at| *at < FARTHEST);
    ends.find_map(|at| {
        let (why, rest) = (parse_error_text.get(..at)?, parse_error_text.get(at + 2..)?);
        let call = ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: rest.to_owned(),
        };
        (call.object().err()? == why).then_some(rest)
    })
}

/// Reads facts about a message that Probity recorded and Inspect has no field for.
fn own_keys(turn: &mut Turn, metadata: &Value) {
    if let Some(reason) = metadata.get("finish_reason").and_then(Value::as_str) {
        turn.finish_reason = Some(FinishReason::from(reason.to_owned()));
    }
    if let Some(extra) = metadata.get("extra").and_then(Value::as_object) {
        turn.extra = extra.clone();
    }
}
