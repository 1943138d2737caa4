//! The marks up to which [Anthropic caches](https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching) a request.
//!
//! Up to a mark, a beginning that was sent within five minutes is read at a tenth of the price, and a new one is written at 1.25 of it. Two
//! marks of the four that a request may have: the system prompt, which other conversations have too, and the end of the messages that other
//! requests of this one have. Anthropic looks for earlier ends up to 20 blocks before a mark.

use serde_json::{Map, Value, json};

use crate::{PromptCache, limited::CHARACTERS_PER_TOKEN, settings::ModelSettings};

/// The field of a mark.
const FIELD: &str = "cache_control";

/// Whether requests are marked: not where the user has marks of their own.
pub(super) fn is_sent(settings: &ModelSettings) -> bool {
    settings.prompt_caching != Some(false) && !settings.extra_body.contains_key(FIELD)
}

/// Marks in `body` the end of the system prompt, and the end of the first `messages` messages, of the last of which `blocks` blocks count.
pub(super) fn mark(body: &mut Map<String, Value>, (messages, blocks): (usize, usize)) {
    let tools = body.get("tools").map_or(0, characters);
    let system = body.get("system").and_then(Value::as_str);
    let mut length = tools + system.map_or(0, |text| text.chars().count());
    if let Some(text) = system
        && is_long(length)
    {
        let block = json!({"type": "text", "text": text, FIELD: {"type": "ephemeral"}});
        body.insert("system".to_owned(), json!([block]));
    }
    let Some(list) = body.get_mut("messages").and_then(Value::as_array_mut) else {
        return;
    };
    let mut last = None;
    for (at, message) in list.iter_mut().take(messages).enumerate() {
        let content = message["content"].as_array_mut().into_iter().flatten();
        let count = if at + 1 == messages {
            blocks
        } else {
            usize::MAX
        };
        for block in content.take(count) {
            length += characters(block);
            last = takes_mark(block).then_some(block).or(last);
        }
    }
    if let Some(block) = last.filter(|_| is_long(length)) {
        block[FIELD] = json!({"type": "ephemeral"});
    }
}

/// Blocks of reasoning cannot be marked.
fn takes_mark(block: &Value) -> bool {
    !matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking") | None
    )
}

/// Whether so many characters are a beginning that is cached, as an estimate. Some models cache none below 2,048 or 4,096 tokens; there the
/// mark costs nothing and has no effect.
fn is_long(characters: usize) -> bool {
    (characters / CHARACTERS_PER_TOKEN) as u64 >= PromptCache::SHORTEST
}

/// The characters of the texts in `value`.
fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(values) => values.iter().map(characters).sum(),
        Value::Object(fields) => fields.values().map(characters).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(system: usize, said: &[usize]) -> Map<String, Value> {
        let turns = said.iter().enumerate().map(|(at, length)| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            json!({"role": role, "content": [{"type": "text", "text": "x".repeat(*length)}]})
        });
        let messages: Vec<Value> = turns.collect();
        let body = json!({"system": "s".repeat(system), "messages": messages});
        body.as_object().unwrap().clone()
    }

    /// Whether the system prompt is marked, and which messages are.
    fn marks(body: &Map<String, Value>) -> (bool, Vec<usize>) {
        let mark = json!({"type": "ephemeral"});
        let messages = body["messages"].as_array().unwrap();
        let marked = messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message["content"][0][FIELD] == mark);
        (
            body["system"][0][FIELD] == mark,
            marked.map(|(at, _)| at).collect(),
        )
    }

    #[test]
    fn only_a_long_beginning_is_marked() {
        for (system, said, count, expected) in [
            (4095, [1, 1, 1], 3, (false, vec![2])),
            (4096, [1, 1, 1], 2, (true, vec![1])),
            (4096, [1, 1, 1], 0, (true, vec![])),
            (1000, [1000, 1000, 5000], 2, (false, vec![])),
            (1000, [1000, 1000, 5000], 3, (false, vec![2])),
        ] {
            let mut body = body(system, &said);
            mark(&mut body, (count, 1));
            assert_eq!(marks(&body), expected, "{system} {said:?} {count}");
        }
    }

    #[test]
    fn reasoning_and_later_blocks_are_not_marked() {
        let mut body = body(5000, &[1]);
        body["messages"][0]["content"] = json!([
            {"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}, {"type": "text", "text": "c"}]);
        mark(&mut body, (1, 2));
        let content = &body["messages"][0]["content"];
        let marked: Vec<bool> = (0..3).map(|at| content[at][FIELD].is_object()).collect();
        assert_eq!(marked, [true, false, false]);
    }
}
