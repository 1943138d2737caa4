//! Requests and responses, Probity's and those of other programs, as texts with speakers.

use serde_json::{Map, Value};

use super::{Section, interface, value};

/// The messages of a request in the format of chat completions, or of an interface like it; `None` if it has none.
pub(crate) fn messages(request: &Value) -> Option<&[Value]> {
    request
        .get("messages")
        .or_else(|| request.get("input"))?
        .as_array()
        .map(Vec::as_slice)
        .filter(|messages| !messages.is_empty())
}

/// One message of a request as role and text.
pub(crate) fn message(message: &Value) -> Section {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
    Section::new(role, said(message))
}

/// The text of a message, and its tool calls.
fn said(message: &Value) -> String {
    let text = content(message.get("content").unwrap_or(&Value::Null));
    match message.get("tool_calls").map(calls) {
        Some(calls) if !calls.is_empty() && text.is_empty() => calls,
        Some(calls) if !calls.is_empty() => format!("{text}\n{calls}"),
        _ => text,
    }
}

/// The calls of a list `tool_calls`, one per line: `[calls pay {"to":"Bo"}]`.
pub(crate) fn calls(list: &Value) -> String {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| {
        let of = |key| call.pointer(key).map_or_else(String::new, value::inline);
        format!(
            "[calls {} {}]",
            of("/function/name"),
            of("/function/arguments")
        )
    };
    list.iter().map(call).collect::<Vec<_>>().join("\n")
}

/// The text of a message's content, which may be a list of parts.
pub(crate) fn content(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| {
                let text = part.get("text").and_then(Value::as_str);
                text.map_or_else(|| value::inline(part), str::to_owned)
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        other => value::inline(other),
    }
}

/// The texts of a request without messages. A single text is the user's.
pub(crate) fn plain_request(request: &Value, into: &mut Vec<Section>) {
    match only_text(request) {
        Some(text) => into.push(Section::new("user", text)),
        None => value::sections("", request, into),
    }
}

/// An endpoint's answer.
pub(crate) struct Answer<'a> {
    /// The texts, with the role of each.
    pub(crate) sections: Vec<Section>,
    /// Tokens and finish reason, if known.
    pub(crate) facts: Vec<String>,
    /// The text of the answer, if there is exactly one.
    pub(crate) text: Option<&'a str>,
}

/// Reads a response in the format of chat completions, a plain text, or any other value.
pub(crate) fn answer(response: &Value) -> Answer<'_> {
    if let Some(answer) = interface::answer(response) {
        return answer;
    }
    let choices = response.get("choices").and_then(Value::as_array);
    let mut answer = Answer {
        sections: Vec::new(),
        facts: Vec::new(),
        text: None,
    };
    let Some(choices) = choices.filter(|choices| !choices.is_empty()) else {
        match only_text(response) {
            Some(text) => {
                answer.text = Some(text);
                answer.sections.push(Section::new("assistant", text));
            }
            None => value::sections("", response, &mut answer.sections),
        }
        return answer;
    };
    for choice in choices {
        let Some(said) = choice.get("message") else {
            value::sections("choice", choice, &mut answer.sections);
            continue;
        };
        for key in ["reasoning_content", "reasoning"] {
            if let Some(text) = said.get(key).and_then(Value::as_str) {
                answer.sections.push(Section::new("reasoning", text));
                break;
            }
        }
        let role = said.get("role").and_then(Value::as_str);
        let text = self::said(said);
        answer
            .sections
            .push(Section::new(role.unwrap_or("assistant"), text));
        if let Some(text) = said.get("refusal").and_then(Value::as_str) {
            answer.sections.push(Section::new("refusal", text));
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            None | Some("stop") => {}
            Some(reason) => answer.facts.push(format!("ended by {reason}")),
        }
    }
    if let [one] = choices.as_slice() {
        answer.text = one.pointer("/message/content").and_then(Value::as_str);
    }
    answer.facts.extend(response.get("usage").and_then(tokens));
    answer
}

pub(super) fn tokens(usage: &Value) -> Option<String> {
    let count = |key| usage.get(key).and_then(Value::as_u64);
    let prompt = count("prompt_tokens").or_else(|| count("input_tokens"))?;
    let completion = count("completion_tokens").or_else(|| count("output_tokens"))?;
    Some(format!("{prompt} + {completion} tokens"))
}

/// A text, or the only text of an object without other relevant fields.
fn only_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(fields) if count_filled(fields) == 1 => {
            fields.get("text").and_then(Value::as_str)
        }
        _ => None,
    }
}

/// The number of fields that are not empty.
fn count_filled(fields: &Map<String, Value>) -> usize {
    fields.values().filter(|value| !value.is_null()).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chat_completion_is_read_as_role_text_and_facts() {
        let response = json!({
            "choices": [{"message": {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
                "finish_reason": "length"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2}
        });
        let read = answer(&response);
        assert_eq!(
            read.sections,
            [
                Section::new("reasoning", "Hm."),
                Section::new("assistant", "Yes.")
            ]
        );
        assert_eq!(read.facts, ["ended by length", "9 + 2 tokens"]);
        assert_eq!(read.text, Some("Yes."));
    }

    #[test]
    fn calls_of_tools_are_shown_beside_the_text() {
        let call = json!({"id": "c", "function": {"name": "pay", "arguments": "{\"to\":1}"}});
        let said = |content: Value| {
            let message = json!({"role": "assistant", "content": content, "tool_calls": [call, 5]});
            let response =
                json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
            let sections = answer(&response).sections;
            assert_eq!(sections, [super::message(&message)]);
            sections[0].text.clone()
        };
        assert_eq!(said(Value::Null), "[calls pay {\"to\":1}]\n[calls  ]");
        assert_eq!(
            said(json!("Now.")),
            "Now.\n[calls pay {\"to\":1}]\n[calls  ]"
        );
    }

    #[test]
    fn other_forms_are_read_too() {
        assert_eq!(answer(&json!({"text": "a"})).text, Some("a"));
        assert_eq!(answer(&json!("a")).text, Some("a"));
        let verdict = json!({"is_safe": true});
        let read = answer(&verdict);
        assert_eq!(read.sections, [Section::new("", "is_safe: true")]);
        let parts = json!([{"type": "text", "text": "a"}, {"type": "image_url"}]);
        assert_eq!(content(&parts), "a\n{\"type\":\"image_url\"}");
        assert_eq!(content(&Value::Null), "");
        let mut sections = Vec::new();
        plain_request(&json!({"text": "q", "options": null}), &mut sections);
        assert_eq!(sections, [Section::new("user", "q")]);
        let strange = json!({"choices": [1, {"message": 2}]});
        assert_eq!(answer(&strange).sections.len(), 2);
    }
}
