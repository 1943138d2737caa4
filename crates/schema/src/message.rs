//! One message of a request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Role, ToolCall};

/// One message of a request. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text. Empty if a model only calls tools.
    pub content: Arc<str>,
    /// The tools that an assistant message calls.
    #[serde(default, skip_serializing_if = "<[ToolCall]>::is_empty")]
    pub tool_calls: Arc<[ToolCall]>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// The reasoning with which an assistant message came, for endpoints that want it back. Not part of the message's JSON: the client
    /// decides whether it is sent.
    #[serde(skip)]
    pub reasoning: Option<Arc<ReturnedReasoning>>,
}

/// The reasoning that an endpoint returned beside a reply, and the field that it came in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnedReasoning {
    /// The field.
    pub field: ReasoningField,
    /// The text; it may be empty.
    pub text: String,
}

/// A field of a reply's message that holds reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// `reasoning_content`: DeepSeek and others.
    ReasoningContent,
    /// `reasoning`: OpenRouter, Groq and others.
    Reasoning,
    /// Blocks of an interface of a provider's own, as a list in JSON: they go back as they came, with their signatures.
    Blocks,
}

impl ReasoningField {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::Blocks => "blocks",
        }
    }
}

impl Message {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Arc::default(),
            tool_call_id: None,
            reasoning: None,
        }
    }

    /// The message of a model that calls tools, with its text.
    #[must_use]
    pub fn calling(content: impl Into<Arc<str>>, tool_calls: impl Into<Arc<[ToolCall]>>) -> Self {
        Self {
            tool_calls: tool_calls.into(),
            ..Self::new(Role::Assistant, content)
        }
    }

    /// A tool's answer to the call `id`.
    #[must_use]
    pub fn tool(id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_that_of_the_api() {
        let call = ToolCall {
            id: "c1".into(),
            name: "pay".into(),
            arguments: "{}".into(),
        };
        for (message, json) in [
            (
                Message::new(Role::System, "Be \"brief\".\n\u{1}é"),
                r#"{"role":"system","content":"Be \"brief\".\n\u0001é"}"#,
            ),
            (
                Message::calling("", vec![call]),
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{}"}}]}"#,
            ),
            (
                Message::tool("c1", "paid"),
                r#"{"role":"tool","content":"paid","tool_call_id":"c1"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&message).unwrap(), json);
            assert_eq!(serde_json::from_str::<Message>(json).unwrap(), message);
        }
    }
}
