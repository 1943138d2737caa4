//! Replies of interfaces other than chat completions: Anthropic's Messages and OpenAI's Responses.

use serde_json::Value;

use super::{Section, exchange::Answer, value};

/// Reads the answer; `None` for a response of another form.
pub(super) fn answer(response: &Value) -> Option<Answer<'_>> {
    let of = |key: &str| response.get(key).and_then(Value::as_array);
    let (blocks, end, plain) = match (of("content"), of("output")) {
        (Some(blocks), _) if response["type"] == "message" => {
            (blocks, response.get("stop_reason"), "end_turn")
        }
        (_, Some(items)) if response["object"] == "response" => {
            (items, response.pointer("/incomplete_details/reason"), "")
        }
        _ => return None,
    };
    let mut sections = Vec::new();
    for block in blocks {
        sections.extend(section(block));
    }
    let end = end.and_then(Value::as_str).filter(|end| *end != plain);
    let texts = blocks.iter().filter_map(text_of);
    let mut facts: Vec<String> = end
        .map(|end| format!("ended by {end}"))
        .into_iter()
        .collect();
    facts.extend(response.get("usage").and_then(super::exchange::tokens));
    Some(Answer {
        text: only(texts),
        sections,
        facts,
    })
}

/// The only text, if there is exactly one.
fn only<'t>(mut texts: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let first = texts.next();
    first.filter(|_| texts.next().is_none())
}

/// The text of a block, or of the only part of an item.
fn text_of(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "text" => block["text"].as_str(),
        "message" => block.pointer("/content/0/text").and_then(Value::as_str),
        _ => None,
    }
}

fn section(block: &Value) -> Option<Section> {
    let call = |arguments: &str| {
        let of = |key: &str| block.get(key).map_or_else(String::new, value::inline);
        Section::new(
            "assistant",
            format!("[calls {} {}]", of("name"), of(arguments)),
        )
    };
    let texts = |key: &str| -> String {
        let parts = block[key].as_array().into_iter().flatten();
        let texts = parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str()));
        texts.collect::<Vec<_>>().join("\n")
    };
    Some(match block["type"].as_str() {
        Some("text") => Section::new("assistant", block["text"].as_str().unwrap_or_default()),
        Some("thinking") => {
            Section::new("reasoning", block["thinking"].as_str().unwrap_or_default())
        }
        Some("message") => Section::new("assistant", texts("content")),
        Some("reasoning") => Section::new(
            "reasoning",
            Some(texts("summary")).filter(|text| !text.is_empty())?,
        ),
        Some("tool_use") => call("input"),
        Some("function_call") => call("arguments"),
        _ => Section::new("", value::inline(block)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(response: &Value) -> (Vec<String>, Vec<String>, Option<String>) {
        let answer = answer(response).unwrap();
        let sections = answer.sections.iter().map(|section| format!("{section:?}"));
        (
            sections.collect(),
            answer.facts,
            answer.text.map(str::to_owned),
        )
    }

    #[test]
    fn replies_of_both_interfaces_are_shown_as_texts() {
        let message = json!({"type": "message", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "text", "text": "Yes."}, {"type": "tool_use", "id": "a", "name": "pay", "input": {"to": "Bo"}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}});
        let response = json!({"object": "response", "output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]},
            {"type": "function_call", "call_id": "a", "name": "pay", "arguments": "{\"to\":\"Bo\"}"}],
            "incomplete_details": null, "usage": {"input_tokens": 3, "output_tokens": 4}});
        let (sections, facts, text) = shown(&message);
        assert_eq!(sections.len(), 3);
        assert!(sections[2].contains("[calls pay {"), "{sections:?}");
        assert_eq!(facts, ["ended by tool_use", "3 + 4 tokens"]);
        assert_eq!(text.as_deref(), Some("Yes."));
        let (own, facts, text) = shown(&response);
        assert_eq!(own[..2], sections[..2]);
        assert_eq!(facts, ["3 + 4 tokens"]);
        assert_eq!(text.as_deref(), Some("Yes."));
        assert!(answer(&json!({"choices": []})).is_none());
    }
}
