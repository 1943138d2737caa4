//! Messages in the form of the chat completions API, as many programs write them.

use schema::{Role, ToolCall, Turn};
use serde::Deserialize;
use serde_json::Value;

use super::{calls, text::json_text};

/// One message.
#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// The turns of a list of messages, and the kinds of parts that are not text.
///
/// # Errors
/// What is wrong with the list.
pub(super) fn turns(messages: &Value) -> Result<(Vec<Turn>, Vec<&'static str>), String> {
    let messages: Vec<Message> =
        Vec::deserialize(messages).map_err(|error| format!("no list of messages: {error}"))?;
    let mut not_text = Vec::new();
    let mut turns = Vec::with_capacity(messages.len());
    for message in messages {
        let role = role(&message.role)
            .ok_or_else(|| format!("a message has the unknown role {:?}", message.role))?;
        let mut turn = Turn::new(role, content(message.content, &mut not_text));
        if role == Role::Assistant {
            let calls = message.tool_calls.into_iter().flatten();
            turn.tool_calls = calls.map(Call::tool_call).collect();
        }
        turn.tool_call_id = message.tool_call_id.map(Into::into);
        turns.push(turn);
    }
    calls::link(&mut turns);
    Ok((turns, not_text))
}

/// The role that other programs call so.
pub(super) fn role(name: &str) -> Option<Role> {
    Some(match name.to_lowercase().as_str() {
        "system" | "developer" => Role::System,
        "user" | "human" => Role::User,
        "assistant" | "model" | "ai" | "gpt" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => return None,
    })
}

/// The text of a message: a text, or a list of parts.
fn content(content: Value, not_text: &mut Vec<&'static str>) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(parts) => {
            let parts: Vec<String> = parts
                .into_iter()
                .map(|part| text_of(part, not_text))
                .collect();
            parts.join("\n")
        }
        other => json_text(&other),
    }
}

fn text_of(part: Value, not_text: &mut Vec<&'static str>) -> String {
    if let Value::String(text) = part {
        return text;
    }
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return text.to_owned();
    }
    let kind = match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        kind if kind.contains("image") => "image",
        kind if kind.contains("audio") => "audio",
        kind if kind.contains("video") => "video",
        kind if kind.contains("file") => "document",
        _ => "data",
    };
    not_text.push(kind);
    format!("[{kind}]")
}

impl Call {
    fn tool_call(self) -> ToolCall {
        let (name, arguments) = match self.function {
            Some(function) => (function.name, function.arguments),
            None => (self.name.unwrap_or_default(), self.arguments),
        };
        ToolCall {
            id: self.id.unwrap_or_default(),
            name,
            arguments: match arguments {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => json_text(&other),
            },
        }
    }
}
