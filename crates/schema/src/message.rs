//! One message of a request.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use serde::{
    Deserialize, Serialize, Serializer,
    ser::{Error as _, SerializeStruct},
};
use serde_json::value::{RawValue, to_raw_value};

use crate::{Role, ToolCall, json_string};

/// One message of a request. Cloning it shares the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said. Empty when a model only calls tools.
    pub content: Arc<str>,
    /// The tools that an assistant message calls.
    #[serde(default, skip_serializing_if = "<[ToolCall]>::is_empty")]
    pub tool_calls: Arc<[ToolCall]>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    #[serde(skip)]
    written: Written,
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
            written: Written::default(),
        }
    }

    /// The message of a model that calls tools, with what it said beside them.
    #[must_use]
    pub fn calling(content: impl Into<Arc<str>>, tool_calls: impl Into<Arc<[ToolCall]>>) -> Self {
        Self {
            tool_calls: tool_calls.into(),
            ..Self::new(Role::Assistant, content)
        }
    }

    /// What a tool answered to the call `id`.
    #[must_use]
    pub fn tool(id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    /// The message as JSON, as it serializes.
    ///
    /// It is written once and kept, as every call of a conversation sends all messages before it again, and escaping them is most
    /// of the work of a request. A message that was changed in place since is written again every time.
    ///
    /// # Errors
    /// None that is known: every message has a form in JSON.
    pub fn json(&self) -> Result<Cow<'_, RawValue>, serde_json::Error> {
        if let Some(text) = self.written.0.get() {
            return if text.is_of(self) {
                Ok(Cow::Borrowed(&text.json))
            } else {
                self.write().map(Cow::Owned)
            };
        }
        let text = Arc::new(Text::of(self)?);
        Ok(Cow::Borrowed(&self.written.0.get_or_init(|| text).json))
    }

    /// The bytes that serde makes of the message. What most messages are is written by hand: that is faster.
    fn write(&self) -> Result<Box<RawValue>, serde_json::Error> {
        if !self.tool_calls.is_empty() || self.tool_call_id.is_some() {
            return to_raw_value(self);
        }
        // Room for the keys, and for escapes as prose has them.
        let mut json = Vec::with_capacity(self.content.len() + self.content.len() / 16 + 64);
        json.extend_from_slice(b"{\"role\":\"");
        json.extend_from_slice(self.role.as_str().as_bytes());
        json.extend_from_slice(b"\",\"content\":");
        json_string::append(&mut json, &self.content);
        json.push(b'}');
        raw_value(json)
    }
}

/// `json`, which was just written, as serde_json's type for JSON that is text.
fn raw_value(json: Vec<u8>) -> Result<Box<RawValue>, serde_json::Error> {
    let json = String::from_utf8(json).map_err(serde_json::Error::custom)?;
    let raw = to_raw_value(&Known(&json))?;
    if raw.get().len() == json.len() {
        Ok(raw)
    } else {
        RawValue::from_string(json)
    }
}

/// The JSON of a message, once it was asked for. It is not a part of what the message says: messages are equal with and without it.
#[derive(Clone, Default)]
struct Written(OnceLock<Arc<Text>>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "yes" } else { "no" })
    }
}

/// Text that is known to be JSON. It serializes as a [`RawValue`] does, which can only be made by reading the text through: that
/// takes as long as writing it. The name is serde_json's own; under another version's it would serialize as an object, which
/// is longer.
struct Known<'a>(&'a str);

impl Serialize for Known<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(NAME, 1)?;
        raw.serialize_field(NAME, self.0)?;
        raw.end()
    }
}

/// The JSON of a message, and what it was made of. The fields of a message are public: they may have been changed since.
struct Text {
    json: Box<RawValue>,
    role: Role,
    content: Arc<str>,
    tool_calls: Arc<[ToolCall]>,
    tool_call_id: Option<Arc<str>>,
}

impl Text {
    fn of(message: &Message) -> Result<Self, serde_json::Error> {
        Ok(Self {
            json: message.write()?,
            role: message.role,
            content: Arc::clone(&message.content),
            tool_calls: Arc::clone(&message.tool_calls),
            tool_call_id: message.tool_call_id.clone(),
        })
    }

    /// Whether it is that of `message` as it is now. What it was made of is kept alive here, so the same address is the same text.
    fn is_of(&self, message: &Message) -> bool {
        let same_id = match (&self.tool_call_id, &message.tool_call_id) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_id
            && self.role == message.role
            && Arc::ptr_eq(&self.content, &message.content)
            && Arc::ptr_eq(&self.tool_calls, &message.tool_calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_that_of_serde_and_kept() {
        let call = ToolCall {
            id: "c1".into(),
            name: "pay".into(),
            arguments: "{}".into(),
        };
        for message in [
            Message::new(Role::System, "Be \"brief\".\n\u{1}é"),
            Message::new(Role::User, ""),
            Message::new(Role::Assistant, "Yes.\\"),
            Message::new(Role::Tool, "none"),
            Message::calling("", vec![call]),
            Message::tool("c1", "paid"),
        ] {
            let expected = serde_json::to_string(&message).unwrap();
            let first = message.json().unwrap();
            assert_eq!(first.get(), expected);
            let copy = message.clone();
            for again in [&message, &copy] {
                // Kept, and shared with copies: the very same text.
                assert!(std::ptr::eq(again.json().unwrap().get(), first.get()));
            }
            assert_eq!(serde_json::from_str::<Message>(&expected).unwrap(), message);
        }
    }

    #[test]
    fn known_json_is_taken_as_it_is() {
        for json in ["{\"a\": 1.50}", "\"é\\n\""] {
            assert_eq!(to_raw_value(&Known(json)).unwrap().get(), json);
            assert_eq!(raw_value(json.into()).unwrap().get(), json);
        }
        raw_value(vec![b'"', 0xff, b'"']).unwrap_err();
    }

    #[test]
    fn a_message_that_was_changed_is_written_anew() {
        let call = ToolCall {
            id: "c1".into(),
            name: "pay".into(),
            arguments: "{}".into(),
        };
        let changes: [fn(&mut Message, ToolCall); 4] = [
            |message, _| message.role = Role::Assistant,
            |message, _| message.content = "ho".into(),
            |message, call| message.tool_calls = vec![call].into(),
            |message, _| message.tool_call_id = Some("c1".into()),
        ];
        for change in changes {
            let mut message = Message::new(Role::User, "hi");
            let before = message.json().unwrap().into_owned();
            change(&mut message, call.clone());
            let after = message.json().unwrap();
            assert_ne!(after.get(), before.get());
            assert_eq!(after.get(), serde_json::to_string(&message).unwrap());
        }
    }
}
