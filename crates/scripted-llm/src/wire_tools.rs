//! Tools in requests and replies: offered tools, calls, and the errors about them.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::wire::{ApiError, ChatBody, WireMessage, WireRole, tokens};

/// An entry of `tools`.
#[derive(Debug, Deserialize)]
pub(crate) struct WireTool<'a> {
    #[serde(borrow)]
    pub(crate) function: Offered<'a>,
}

/// A function that may be called.
#[derive(Debug, Deserialize)]
pub(crate) struct Offered<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) description: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) parameters: Value,
}

/// An entry of an assistant message's `tool_calls`.
#[derive(Debug, Deserialize)]
pub(crate) struct WireCall<'a> {
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) function: Called<'a>,
}

/// A function with its arguments as text.
#[derive(Debug, Deserialize)]
pub(crate) struct Called<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) arguments: Cow<'a, str>,
}

/// `tool_choice`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireChoice {
    Auto,
    None,
    Required,
    /// The function with this name.
    Named(String),
}

impl<'de> Deserialize<'de> for WireChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("auto") => Ok(Self::Auto),
            Some("none") => Ok(Self::None),
            Some("required") => Ok(Self::Required),
            _ => value
                .pointer("/function/name")
                .and_then(Value::as_str)
                .map(|name| Self::Named(name.to_owned()))
                .ok_or_else(|| {
                    D::Error::custom("'tool_choice' is none of auto, none, required and a function")
                }),
        }
    }
}

/// A call in a reply.
#[derive(Debug, Serialize)]
pub(crate) struct CallOut {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionOut,
}

#[derive(Debug, Serialize)]
struct FunctionOut {
    name: String,
    arguments: String,
}

impl CallOut {
    pub(crate) fn new(id: String, name: &str, arguments: &Value) -> Self {
        let (name, arguments) = (name.to_owned(), arguments.to_string());
        Self {
            id,
            kind: "function",
            function: FunctionOut { name, arguments },
        }
    }

    /// The name and the arguments, counted as tokens.
    pub(crate) fn tokens(&self) -> u64 {
        tokens(&self.function.name) + tokens(&self.function.arguments)
    }
}

/// Checks the same rules about tools as OpenAI.
pub(crate) fn check(request: &ChatBody<'_>) -> Result<(), ApiError> {
    match &request.tools {
        Some(tools) => check_tools(tools)?,
        None if request.tool_choice.is_some() => {
            let message = "'tool_choice' is only allowed when 'tools' are specified.";
            return Err(ApiError::invalid(message.to_owned()).param("tool_choice"));
        }
        None => {}
    }
    if let Some(WireChoice::Named(name)) = &request.tool_choice
        && !request.offers(name)
    {
        let message = format!("Tool choice '{name}' not found in 'tools' parameter.");
        return Err(ApiError::invalid(message).param("tool_choice"));
    }
    check_answers(&request.messages)
}

fn check_tools(tools: &[WireTool<'_>]) -> Result<(), ApiError> {
    let refuse = |message: String| Err(ApiError::invalid(message).param("tools"));
    if tools.is_empty() {
        let message = "Invalid 'tools': empty array. Expected an array with minimum length 1.";
        return refuse(message.to_owned());
    }
    for (place, tool) in tools.iter().enumerate() {
        let name = &*tool.function.name;
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return refuse(format!(
                "Invalid 'tools[{place}].function.name': string does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            ));
        }
        let parameters = &tool.function.parameters;
        let is_object = parameters.get("type").and_then(Value::as_str) == Some("object");
        if !parameters.is_null() && !is_object {
            return refuse(format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'."
            ));
        }
    }
    Ok(())
}

/// Checks that every call is answered by a following tool message, and every tool message answers a
/// call.
fn check_answers(messages: &[WireMessage<'_>]) -> Result<(), ApiError> {
    let refuse = |message: String| Err(ApiError::invalid(message).param("messages"));
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.role == WireRole::Tool {
            let Some(id) = message.tool_call_id.as_deref() else {
                return refuse("Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.".to_owned());
            };
            let Some(place) = open.iter().position(|other| *other == id) else {
                return refuse(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; \
                     '{id}' is no call that waits for one."
                ));
            };
            open.swap_remove(place);
            continue;
        }
        if let Some(id) = open.first() {
            return refuse(unanswered(id));
        }
        let calls = message.tool_calls.as_deref().unwrap_or_default();
        if !calls.is_empty() && message.role != WireRole::Assistant {
            return refuse(
                "Invalid parameter: only assistant messages can have 'tool_calls'.".to_owned(),
            );
        }
        open.extend(calls.iter().map(|call| &*call.id));
    }
    open.first().map_or(Ok(()), |id| refuse(unanswered(id)))
}

fn unanswered(id: &str) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         '{id}' has no response message."
    )
}

impl ChatBody<'_> {
    /// Whether the request offers a tool with this name.
    fn offers(&self, name: &str) -> bool {
        let mut tools = self.tools.iter().flatten();
        tools.any(|tool| tool.function.name == name)
    }

    /// The tools that may be called in this request.
    pub(crate) fn callable(&self) -> Vec<&Offered<'_>> {
        let tools = self.tools.iter().flatten().map(|tool| &tool.function);
        match &self.tool_choice {
            Some(WireChoice::None) => Vec::new(),
            Some(WireChoice::Named(name)) => tools.filter(|tool| tool.name == *name).collect(),
            _ => tools.collect(),
        }
    }

    /// Whether the reply has to call a tool.
    pub(crate) fn must_call(&self) -> bool {
        matches!(
            self.tool_choice,
            Some(WireChoice::Required | WireChoice::Named(_))
        )
    }

    /// Adds the request's tools and calls to the hash that the reply depends on. Ids are left out.
    pub(crate) fn hash_tools(&self, hash: &mut Sha256) {
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        for tool in self.tools.iter().flatten() {
            add(&tool.function.name);
            add(tool.function.description.as_deref().unwrap_or_default());
            add(&tool.function.parameters.to_string());
        }
        if let Some(choice) = &self.tool_choice {
            add(&format!("{choice:?}"));
        }
        let calls = self.messages.iter().flat_map(|message| &message.tool_calls);
        for call in calls.flatten() {
            add(&call.function.name);
            add(&call.function.arguments);
        }
    }

    /// The number of tokens of the tools and calls in the request.
    pub(crate) fn tool_tokens(&self) -> u64 {
        let tools = self.tools.iter().flatten().map(|tool| &tool.function);
        let offered = tools.map(|tool| {
            tokens(&tool.name)
                + tokens(tool.description.as_deref().unwrap_or_default())
                + tokens(&tool.parameters.to_string())
        });
        let calls = self.messages.iter().flat_map(|message| &message.tool_calls);
        let called = calls
            .flatten()
            .map(|call| tokens(&call.function.name) + tokens(&call.function.arguments));
        offered.sum::<u64>() + called.sum::<u64>()
    }
}
