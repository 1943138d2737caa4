//! Any JSON value as text for a person.

use serde_json::{Map, Value};

use super::Section;

/// A text that is longer, or has several lines, gets its own section.
const LONG: usize = 60;
/// Objects nested deeper than this are shown as JSON.
const DEEPEST: usize = 4;

/// A value on one line: texts unchanged, everything else as JSON.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(n) if number.is_f64() => n.to_string(), // 1.0 is 1
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// The fields of `value` under `name`: short ones on one line each, `name: value`; long texts as separate sections. The
/// name of a nested field is its path, joined with dots.
pub(crate) fn sections(name: &str, value: &Value, into: &mut Vec<Section>) {
    let mut short = Vec::new();
    let mut long = Vec::new();
    if name.is_empty() && value.as_object().is_some_and(Map::is_empty) {
        return;
    }
    gather(name, value, DEEPEST, &mut short, &mut long);
    if !short.is_empty() {
        into.push(Section::new("", short.join("\n")));
    }
    into.append(&mut long);
}

fn gather(
    name: &str,
    value: &Value,
    depth: usize,
    short: &mut Vec<String>,
    long: &mut Vec<Section>,
) {
    match value {
        Value::Object(fields) if depth > 0 && !fields.is_empty() => {
            for (key, value) in fields {
                let name = match name {
                    "" => key.clone(),
                    name => format!("{name}.{key}"),
                };
                gather(&name, value, depth - 1, short, long);
            }
        }
        Value::Array(values) if values.iter().all(is_flat) && !is_short(value) => {
            let lines: Vec<String> = values.iter().map(scalars).collect();
            long.push(Section::new(name, lines.join("\n")));
        }
        Value::Array(values) if depth > 0 && !is_short(value) => {
            for (at, value) in values.iter().enumerate() {
                gather(&format!("{name}[{at}]"), value, depth - 1, short, long);
            }
        }
        value if is_short(value) => short.push(format!("{name}: {}", inline(value))),
        value => long.push(Section::new(name, inline(value))),
    }
}

/// The fields of an object that are single values or lists of texts, on one line: `turn: 1, suts: [a, b]`. Other values
/// unchanged.
pub(crate) fn scalars(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return inline(value);
    };
    let shown = |(name, value): (&String, &Value)| match value {
        Value::Object(_) => None,
        Value::Array(values) => Some(format!("{name}: [{}]", texts(values)?.join(", "))),
        value => Some(format!("{name}: {}", inline(value))),
    };
    let shown: Vec<String> = fields.iter().filter_map(shown).collect();
    shown.join(", ")
}

/// The texts of a list that contains only texts.
fn texts(values: &[Value]) -> Option<Vec<&str>> {
    match values {
        [] => None,
        values => values.iter().map(Value::as_str).collect(),
    }
}

/// Whether a value is single, or an object of single values.
fn is_flat(value: &Value) -> bool {
    let single = |value: &Value| !value.is_object() && !value.is_array();
    match value {
        Value::Object(fields) => !fields.is_empty() && fields.values().all(single),
        value => single(value),
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= LONG && !text.contains('\n'),
        Value::Array(values) => values
            .iter()
            .all(|value| is_short(value) && !value.is_object() && !value.is_array()),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_share_a_section_and_long_texts_stand_alone() {
        let text = "a long text ".repeat(10);
        let mut found = Vec::new();
        sections(
            "annotation",
            &json!({"is_safe": true, "score": 1.0, "metadata": {"why": text, "list": ["a", 2], "none": {}},
                "steps": [{"turn": 1, "do": "push"}, {"turn": 2}], "deep": [{"a": [1]}]}),
            &mut found,
        );
        assert_eq!(
            found,
            [
                Section::new(
                    "",
                    "annotation.is_safe: true\nannotation.score: 1\nannotation.metadata.list: [\"a\",2]\n\
                     annotation.metadata.none: {}\nannotation.deep[0].a: [1]"
                ),
                Section::new("annotation.metadata.why", text),
                Section::new("annotation.steps", "turn: 1, do: push\nturn: 2"),
            ]
        );
    }

    #[test]
    fn one_line_shows_single_values_and_lists_of_texts() {
        let value = json!({"id": "r", "n": 1.0, "suts": ["a", "b"], "none": [], "place": [0, 1], "of": {"x": 1}});
        assert_eq!(scalars(&value), "id: r, n: 1, suts: [a, b]");
        assert_eq!(scalars(&json!([1])), "[1]");
    }

    #[test]
    fn what_is_very_deep_is_shown_as_json() {
        let mut value = json!(1);
        for _ in 0..100 {
            value = json!({ "a": value });
        }
        let mut shown = Vec::new();
        sections("x", &value, &mut shown);
        assert_eq!(shown.len(), 1);
        assert!(shown[0].speaker.starts_with("x.a.a.a.a"));
    }
}
