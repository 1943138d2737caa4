//! The steps of an application that calls tools of its own: what it said and did before its reply.

use schema::{Message, Role, ToolCall};
use serde_json::Value;

/// The most messages of one reply.
const MOST_MESSAGES: usize = 256;
/// The most levels of their JSON.
const MOST_LEVELS: usize = 64;

/// The messages that an application gives in the place of a reply: those of its steps, and the reply as the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplySteps {
    /// Its messages with calls of tools, and their answers.
    pub steps: Vec<Message>,
    /// The text of the reply.
    pub content: String,
}

impl ReplySteps {
    /// Reads the list `messages`: assistant and tool messages, the last one of the assistant and without calls. Calls are `{id, name,
    /// arguments}`, or have the form of OpenAI; each has its answer after it.
    ///
    /// # Errors
    /// What is wrong with it, with its key.
    pub fn read(messages: &Value) -> Result<Self, String> {
        let Some(messages) = messages.as_array() else {
            return Err("messages: expected a list".to_owned());
        };
        if messages.len() > MOST_MESSAGES {
            let length = messages.len();
            return Err(format!("messages: {length}; {MOST_MESSAGES} are the most"));
        }
        let Some((last, before)) = messages.split_last() else {
            return Err("messages: expected one or more".to_owned());
        };
        if let Some(at) = messages.iter().position(|message| !is_shallow(message)) {
            return Err(format!(
                "messages[{at}]: more than {MOST_LEVELS} levels of JSON"
            ));
        }
        let mut open = OpenCalls::default();
        let mut steps = Vec::with_capacity(before.len());
        for (at, message) in before.iter().enumerate() {
            let place = format!("messages[{at}]");
            steps.push(match role(message, &place)? {
                Role::Tool => open.answer(message, &place)?,
                _ => open.said(message, &place)?,
            });
        }
        let place = format!("messages[{}]", before.len());
        if role(last, &place)? != Role::Assistant {
            return Err(format!(
                "{place}.role: the last message is the reply, of the assistant"
            ));
        }
        if let Some((id, place)) = open.0.first() {
            return Err(format!("{place}: no answer to the call {id:?} follows"));
        }
        if !calls_of(last, &place)?.is_empty() {
            return Err(format!(
                "{place}.tool_calls: the last message is the reply, and calls nothing"
            ));
        }
        let content = text(last, &place)?;
        Ok(Self {
            steps,
            content: content.ok_or_else(|| format!("{place}.content: missing"))?,
        })
    }
}

/// The ids of calls without an answer so far, and their places.
#[derive(Default)]
struct OpenCalls(Vec<(String, String)>);

impl OpenCalls {
    /// A message of the assistant.
    fn said(&mut self, message: &Value, place: &str) -> Result<Message, String> {
        let calls = calls_of(message, place)?;
        let content = match text(message, place)? {
            Some(content) => content,
            None if !calls.is_empty() => String::new(),
            None => return Err(format!("{place}.content: missing")),
        };
        for (at, call) in calls.iter().enumerate() {
            let place = format!("{place}.tool_calls[{at}]");
            if self.0.iter().any(|(id, _)| *id == call.id) {
                return Err(format!("{place}.id: it is the id of an open call"));
            }
            self.0.push((call.id.clone(), place));
        }
        Ok(Message::calling(content, calls))
    }

    /// The answer of a tool.
    fn answer(&mut self, message: &Value, place: &str) -> Result<Message, String> {
        let given = message.get("tool_call_id").and_then(Value::as_str);
        let id = given.ok_or_else(|| format!("{place}.tool_call_id: expected the id of a call"))?;
        let Some(at) = self.0.iter().position(|(open, _)| open == id) else {
            return Err(format!("{place}.tool_call_id: no call before it"));
        };
        self.0.remove(at);
        let content = text(message, place)?;
        Ok(Message::tool(
            id,
            content.ok_or_else(|| format!("{place}.content: missing"))?,
        ))
    }
}

fn role(message: &Value, place: &str) -> Result<Role, String> {
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => Ok(Role::Assistant),
        Some("tool") => Ok(Role::Tool),
        _ => Err(format!("{place}.role: expected assistant or tool")),
    }
}

fn text(message: &Value, place: &str) -> Result<Option<String>, String> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{place}.content: expected a text")),
    }
}

fn calls_of(message: &Value, place: &str) -> Result<Vec<ToolCall>, String> {
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(format!("{place}.tool_calls: expected a list")),
    };
    let read = |(at, call): (usize, &Value)| {
        let wrong = |key: &str, reason: &str| format!("{place}.tool_calls[{at}]{key}: {reason}");
        let of = call.get("function").unwrap_or(call);
        let known = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).map(str::to_owned);
            text.filter(|text| !text.trim().is_empty())
        };
        Ok(ToolCall {
            id: known(call.get("id")).ok_or_else(|| wrong(".id", "expected a text"))?,
            name: known(of.get("name")).ok_or_else(|| wrong(".name", "expected a text"))?,
            arguments: match of.get("arguments") {
                None | Some(Value::Null) => "{}".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(object @ Value::Object(_)) => object.to_string(),
                Some(_) => return Err(wrong(".arguments", "expected an object or its text")),
            },
        })
    };
    calls.iter().enumerate().map(read).collect()
}

/// Whether `value` has at most as many levels as a message may have.
fn is_shallow(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..MOST_LEVELS {
        let below = level.iter().flat_map(|value| match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(object) => object.values().collect(),
            _ => Vec::new(),
        });
        level = below.collect();
    }
    level.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_and_the_reply_are_read() {
        let messages = json!([
            {"role": "assistant", "tool_calls": [{"id": "a", "name": "look", "arguments": {"at": 1}}]},
            {"role": "tool", "tool_call_id": "a", "name": "look", "content": "found"},
            {"role": "assistant", "content": "One more.", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"at\":2}"}},
                {"id": "b", "name": "rest"},
            ]},
            {"role": "tool", "tool_call_id": "b", "content": ""},
            {"role": "tool", "tool_call_id": "a", "content": "found"},
            {"role": "assistant", "content": "Done."},
        ]);
        let read = ReplySteps::read(&messages).unwrap();
        assert_eq!((read.steps.len(), &*read.content), (5, "Done."));
        let calls: Vec<&str> = read
            .steps
            .iter()
            .flat_map(|step| step.tool_calls.iter())
            .map(|call| call.arguments.as_str())
            .collect();
        assert_eq!(calls, [r#"{"at":1}"#, r#"{"at":2}"#, "{}"]);
        let only = ReplySteps::read(&json!([{"role": "assistant", "content": ""}])).unwrap();
        assert_eq!((only.steps.len(), &*only.content), (0, ""));
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_key() {
        let said = |text: &str| json!({"role": "assistant", "content": text});
        let call = |id: &str| json!({"role": "assistant", "tool_calls": [{"id": id, "name": "f"}]});
        let answer = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
        let deep = (0..MOST_LEVELS).fold(json!(1), |inner, _| json!([inner]));
        for (messages, words) in [
            (json!({}), "messages: expected a list"),
            (json!([]), "messages: expected one or more"),
            (json!(vec![said("x"); 257]), "messages: 257; 256 are"),
            (
                json!([{"role": "user", "content": "x"}]),
                "messages[0].role",
            ),
            (json!([said("x"), "x"]), "messages[1].role"),
            (json!([call("a"), answer("a")]), "messages[1].role"),
            (
                json!([answer("a"), said("x")]),
                "messages[0].tool_call_id: no call",
            ),
            (
                json!([call("a"), said("x")]),
                "messages[0].tool_calls[0]: no answer",
            ),
            (
                json!([call("a"), call("a"), said("x")]),
                "messages[1].tool_calls[0].id",
            ),
            (json!([call(""), said("x")]), "messages[0].tool_calls[0].id"),
            (json!([call("a")]), "messages[0].tool_calls: the last"),
            (
                json!([{"role": "assistant"}]),
                "messages[0].content: missing",
            ),
            (
                json!([{"role": "assistant", "content": ["x"]}]),
                "messages[0].content: expected a text",
            ),
            (
                json!([{"role": "assistant", "content": "x", "extra": deep}]),
                "messages[0]: more than 64",
            ),
        ] {
            let wrong = ReplySteps::read(&messages).unwrap_err();
            assert!(wrong.starts_with(words), "{messages}: {wrong}");
        }
    }
}
