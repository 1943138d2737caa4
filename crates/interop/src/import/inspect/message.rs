//! Inspect's chat messages as turns.

use std::{collections::HashMap, sync::Arc};

use schema::{Extra, FinishReason, Role, ToolCall, Turn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::import::text::json_text;

/// How a text that stands in the sample's attachments is named.
const ATTACHMENT: &str = "attachment://";

/// One chat message.
#[derive(Debug, Deserialize)]
pub(super) struct ChatMessage {
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

/// Makes turns of messages, with what they refer to.
pub(super) struct Messages<'a> {
    pub(super) attachments: &'a HashMap<String, String>,
    /// The parts that are no text.
    pub(super) not_text: Vec<&'static str>,
}

impl Messages<'_> {
    /// The turn that a message is.
    pub(super) fn turn(&mut self, message: ChatMessage) -> Result<Turn, String> {
        let role = match message.role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => {
                return Err(format!(
                    "a message has the role {other:?}, which is not known"
                ));
            }
        };
        let mut turn = Turn::new(role, self.text(&message.content)?);
        if role == Role::Assistant {
            for (at, call) in message.tool_calls.iter().flatten().enumerate() {
                turn.tool_calls.push(self.call(at, call)?);
            }
        }
        if role == Role::Tool {
            turn.tool_call_id = message.tool_call_id.map(Arc::from);
            turn.name = message.function.map(Arc::from);
            if let (true, Some(error)) = (turn.content.trim().is_empty(), &message.error) {
                let said = error.get("message").and_then(Value::as_str);
                let said = said.map_or_else(|| error.to_string(), str::to_owned);
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

    /// The text of a message: its parts of text, one to a line. Thinking is left out: no judge sees it.
    fn text(&mut self, content: &Value) -> Result<Arc<str>, String> {
        let parts = match content {
            Value::Null => return Ok("".into()),
            Value::String(text) => return Ok(self.resolved(text).into()),
            Value::Array(parts) => parts,
            other => {
                return Err(format!(
                    "a message's content is {other}, and neither text nor a list"
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

    /// A call in Inspect's form, or in that of the OpenAI API.
    fn call(&self, at: usize, call: &Value) -> Result<ToolCall, String> {
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
            id: id.map_or_else(|| format!("call_{at}"), str::to_owned),
            name: name.to_owned(),
            arguments: match arguments {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => self.resolved(text).to_owned(),
                Some(Value::Object(map)) => json_text(&Value::Object(self.all_resolved(map))),
                Some(other) => json_text(other),
            },
        })
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

/// What Probity itself tells of a message that Inspect has no place for.
fn own_keys(turn: &mut Turn, metadata: &Value) {
    if let Some(reason) = metadata.get("finish_reason").and_then(Value::as_str) {
        turn.finish_reason = Some(FinishReason::from(reason.to_owned()));
    }
    if let Some(extra) = metadata.get("extra").and_then(Value::as_object) {
        turn.extra = extra.clone();
    }
}
