//! The settings of a model's calls, under Inspect's names.

use schema::Extra;
use serde_json::{Map, Value};

/// Whether Inspect accepts a value.
type Fits = fn(&Value) -> bool;

/// Settings that Inspect has a name for: the name on the wire, Inspect's name, and the accepted values.
const KNOWN: &[(&str, &str, Fits)] = &[
    ("temperature", "temperature", Value::is_number),
    ("top_p", "top_p", Value::is_number),
    ("top_k", "top_k", Value::is_u64),
    ("max_tokens", "max_tokens", Value::is_u64),
    ("max_completion_tokens", "max_tokens", Value::is_u64),
    ("seed", "seed", Value::is_i64),
    ("frequency_penalty", "frequency_penalty", Value::is_number),
    ("presence_penalty", "presence_penalty", Value::is_number),
    ("n", "num_choices", Value::is_u64),
    ("stop", "stop_seqs", is_texts),
    ("reasoning_effort", "reasoning_effort", is_effort),
    ("verbosity", "verbosity", is_verbosity),
];

/// Settings for the transport of a reply, not for its content.
const LEFT_OUT: &[&str] = &["model", "messages", "stream", "stream_options"];

fn is_texts(value: &Value) -> bool {
    match value {
        Value::Array(texts) => texts.iter().all(Value::is_string),
        _ => false,
    }
}

fn is_effort(value: &Value) -> bool {
    let words = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    value.as_str().is_some_and(|word| words.contains(&word))
}

fn is_verbosity(value: &Value) -> bool {
    let words = ["low", "medium", "high"];
    value.as_str().is_some_and(|word| words.contains(&word))
}

/// The settings as a `GenerateConfig`. Settings without a name in Inspect, or with a value that it would refuse, are in
/// `extra_body` as they were sent.
pub(super) fn generate_config(settings: &Extra) -> Value {
    let mut config = Map::new();
    let mut rest = Map::new();
    for (key, value) in settings {
        if LEFT_OUT.contains(&key.as_str()) || value.is_null() {
            continue;
        }
        // A single stop word may be a plain text.
        let value = match (key.as_str(), value) {
            ("stop", Value::String(word)) => Value::from(vec![word.clone()]),
            (_, value) => value.clone(),
        };
        let known = KNOWN
            .iter()
            .find(|(sent, name, fits)| sent == key && fits(&value) && !config.contains_key(*name));
        match known {
            Some((_, name, _)) => config.insert((*name).to_owned(), value),
            None => rest.insert(key.clone(), value),
        };
    }
    if !rest.is_empty() {
        config.insert("extra_body".to_owned(), Value::Object(rest));
    }
    Value::Object(config)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_inspect_does_not_know_or_would_refuse_stands_apart() {
        let sent = json!({
            "model": "m", "temperature": 0.5, "max_completion_tokens": 9, "max_tokens": 8, "stop": "x",
            "top_p": "high", "reasoning_effort": "huge", "provider": {"only": ["a"]}, "seed": null,
        });
        let config = generate_config(sent.as_object().unwrap());
        let expected = json!({
            "temperature": 0.5, "max_tokens": 9, "stop_seqs": ["x"],
            "extra_body": {
                "max_tokens": 8, "top_p": "high", "reasoning_effort": "huge", "provider": {"only": ["a"]},
            },
        });
        assert_eq!(config, expected);
    }
}
