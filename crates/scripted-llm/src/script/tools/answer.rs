//! The answers of simulated tools.

use serde_json::{Value, json};

use super::{kind::Kind, words::reports_failure};
use crate::{
    hash::text_seed,
    script::Call,
    text::{normal, tag},
};

/// A JSON object that depends on the world state. The first rule that applies decides:
/// 1. A line of the state names a value of the arguments, or the tool, and reports a failure: `{"error": line}`.
/// 2. The tool only looks: `{"found": [lines]}` with the lines that name a value; without values all lines.
/// 3. The same call was made before: `{"status": "already done"}`.
/// 4. Otherwise: `{"status": "done", "reference": …}`.
pub(crate) fn reply(call: &Call<'_>) -> String {
    // The text before the request also mentions the tags.
    let request = tag(call.asked, "tool_request").unwrap_or_default();
    let field = |name: &str| tag(&request, name).unwrap_or_default();
    let (name, arguments, earlier) = (
        field("tool_name"),
        field("arguments"),
        field("earlier_calls"),
    );
    let parsed: Value = serde_json::from_str(&arguments).unwrap_or_default();
    let mut values = Vec::new();
    collect(&parsed, &mut values);
    let world = field("world_state");
    let state: Vec<&str> = world.lines().map(str::trim).collect();
    // A number is more specific than a name that many lines contain.
    if values.iter().any(|value| is_number(value)) {
        values.retain(|value| is_number(value));
    }
    let named = |line: &&str| {
        let words = normal(line);
        values.iter().any(|value| words.contains(value))
    };
    let lines: Vec<&str> = state.iter().copied().filter(named).collect();
    let looks = Kind::of(&name) == Kind::Looks;
    let of_tool = state.iter().copied().filter(|line| line.contains(&name));
    let mut telling = of_tool.chain(lines.iter().copied());
    let failing = telling.find(|line| !looks && reports_failure(line));
    let answer = if let Some(line) = failing {
        json!({"error": bare(line)})
    } else if looks {
        let matching = if values.is_empty() { state } else { lines };
        let found = matching
            .into_iter()
            .map(bare)
            .filter(|line| !line.is_empty());
        json!({"found": found.collect::<Vec<_>>()})
    } else if earlier.contains(&name) && earlier.contains(&arguments) {
        json!({"status": "already done"})
    } else {
        let number = text_seed(&format!("{name} {arguments}")) % 10_000;
        json!({"status": "done", "reference": format!("R-{number:04}")})
    };
    answer.to_string()
}

/// Whether a text in normal form is a name with a number in it, such as `inv 2041`.
fn is_number(words: &str) -> bool {
    words.contains(|letter: char| letter.is_ascii_digit())
        && words.contains(|letter: char| letter.is_alphabetic())
}

/// A line without its list marker.
fn bare(line: &str) -> &str {
    line.trim_start_matches(['-', '*', ' '])
}

/// The texts and numbers in `value`, in normal form.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(normal(&number.to_string())),
        Value::String(text) => found.push(normal(text)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(values) => values.values().for_each(|value| collect(value, found)),
    }
    found.retain(|words| !words.trim().is_empty());
}
