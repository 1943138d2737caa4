//! Sends the reasoning of earlier replies back.

use schema::{ChatRequest, Message, ReasoningField, Role};
use serde::{Serialize, Serializer, ser::SerializeSeq};

use crate::settings::ReasoningSentBack;

/// The messages of a request as they are sent: with the reasoning of earlier replies, where the settings send it back.
pub(crate) struct Messages<'a> {
    messages: &'a [Message],
    /// The field that messages without reasoning get empty.
    filled: Option<ReasoningField>,
    is_sent_back: bool,
    /// Whether the last message, if it is the model's own, is marked as the beginning of its reply.
    marks_prefill: bool,
}

impl<'a> Messages<'a> {
    pub(crate) fn of(request: &'a ChatRequest, when: ReasoningSentBack) -> Self {
        let is_wanted = match when {
            ReasoningSentBack::Never => false,
            ReasoningSentBack::WithTools => !request.tools.is_empty(),
            ReasoningSentBack::Always => true,
        };
        let mut fields = request.messages.iter().filter_map(|message| {
            let reasoning = message.reasoning.as_ref()?;
            Some(reasoning.field)
        });
        // DeepSeek wants the field in each reply of a conversation, also where the model returned none.
        let filled = fields.find(|field| *field == ReasoningField::ReasoningContent);
        Self {
            messages: &request.messages,
            filled,
            is_sent_back: is_wanted,
            marks_prefill: false,
        }
    }

    /// With a mark on the beginning of the reply, if `marks`.
    pub(crate) fn marking_prefill(self, marks: bool) -> Self {
        Self {
            marks_prefill: marks,
            ..self
        }
    }
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_sent_back && !self.marks_prefill {
            return self.messages.serialize(serializer);
        }
        let mut list = serializer.serialize_seq(Some(self.messages.len()))?;
        for (at, message) in self.messages.iter().enumerate() {
            let mut sent = match self.is_sent_back {
                true => Sent::of(message, self.filled),
                false => Sent::plain(message),
            };
            let is_last = at + 1 == self.messages.len();
            sent.prefix = self.marks_prefill && is_last && message.role == Role::Assistant;
            list.serialize_element(&sent)?;
        }
        list.end()
    }
}

/// A message with its reasoning.
#[derive(Serialize)]
struct Sent<'a> {
    #[serde(flatten)]
    message: &'a Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    /// The message is the beginning of the reply.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prefix: bool,
}

impl<'a> Sent<'a> {
    fn plain(message: &'a Message) -> Self {
        Self {
            message,
            reasoning_content: None,
            reasoning: None,
            prefix: false,
        }
    }

    fn of(message: &'a Message, filled: Option<ReasoningField>) -> Self {
        let mut sent = Self::plain(message);
        if message.role != Role::Assistant {
            return sent;
        }
        let (field, text) = match (&message.reasoning, filled) {
            (Some(reasoning), _) => (reasoning.field, reasoning.text.as_str()),
            (None, Some(field)) => (field, ""),
            (None, None) => return sent,
        };
        match field {
            ReasoningField::ReasoningContent => sent.reasoning_content = Some(text),
            ReasoningField::Reasoning if text.is_empty() => {}
            // Of another interface, which this endpoint does not have.
            ReasoningField::Blocks => {}
            ReasoningField::Reasoning => sent.reasoning = Some(text),
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::{CallContext, Purpose, ReturnedReasoning, ToolSpec};
    use serde_json::{Value, json};

    use super::*;

    fn request(field: ReasoningField, with_tools: bool) -> ChatRequest {
        let thought = Message {
            reasoning: Some(Arc::new(ReturnedReasoning {
                field,
                text: "hm".to_owned(),
            })),
            ..Message::new(Role::Assistant, "yes")
        };
        let messages = vec![
            Message::new(Role::User, "hi"),
            thought,
            Message::new(Role::User, "and?"),
            Message::new(Role::Assistant, "no"),
        ];
        let mut request = ChatRequest::new(messages, CallContext::new(Purpose::TargetTurn, "row"));
        if with_tools {
            let tool = ToolSpec {
                name: "pay".into(),
                description: String::new(),
                parameters: json!({"type": "object"}),
            };
            request.tools = vec![tool].into();
        }
        request
    }

    fn sent(request: &ChatRequest, when: ReasoningSentBack) -> Value {
        serde_json::to_value(Messages::of(request, when)).unwrap()
    }

    #[test]
    fn reasoning_goes_back_in_its_field_only_where_it_is_wanted() {
        use ReasoningSentBack::{Always, Never, WithTools};
        let without = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": "and?"},
            {"role": "assistant", "content": "no"},
        ]);
        let mut content = without.clone();
        content[1]["reasoning_content"] = json!("hm");
        content[3]["reasoning_content"] = json!("");
        let mut plain = without.clone();
        plain[1]["reasoning"] = json!("hm");
        for (field, with) in [
            (ReasoningField::ReasoningContent, &content),
            (ReasoningField::Reasoning, &plain),
        ] {
            let (bare, tools) = (request(field, false), request(field, true));
            assert_eq!(sent(&tools, Never), without);
            assert_eq!(sent(&bare, WithTools), without);
            assert_eq!(&sent(&tools, WithTools), with);
            assert_eq!(&sent(&bare, Always), with);
        }
    }

    #[test]
    fn a_conversation_without_reasoning_is_sent_as_it_was() {
        let mut plain = request(ReasoningField::Reasoning, true);
        for message in &mut plain.messages {
            message.reasoning = None;
        }
        let bytes = |when| serde_json::to_string(&Messages::of(&plain, when)).unwrap();
        assert_eq!(
            bytes(ReasoningSentBack::Always),
            bytes(ReasoningSentBack::Never)
        );
    }
}
