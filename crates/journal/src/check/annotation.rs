//! Annotations.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

/// The fields of an annotation that the rules need, `{is_safe, is_valid, metadata}`.
#[derive(Debug, Deserialize)]
pub(crate) struct Annotation {
    pub(crate) is_safe: Option<bool>,
    #[serde(default = "valid", deserialize_with = "truthy")]
    pub(crate) is_valid: bool,
}

impl Annotation {
    /// The annotation in `text`. `None` if it is not an object, or its `is_safe` is neither true, false nor null. Unlike a
    /// [`Value`], it accepts half a surrogate pair in other fields, which Python writes.
    pub(crate) fn read(text: &RawValue) -> Option<Self> {
        serde_json::from_str(text.get()).ok()
    }
}

/// An annotation without `is_valid` is valid.
fn valid() -> bool {
    true
}

/// Whether a value is true in Python, the language of ModelBench's checker.
fn truthy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => false,
        Value::Bool(value) => value,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    })
}

/// The number of responses that `annotation` joins: the length of its `joined_responses`, at any depth; 1 if there is none.
pub(crate) fn joined_responses(annotation: &RawValue) -> u32 {
    let key = "joined_responses";
    if !annotation.get().contains(key) {
        return 1;
    }
    let annotation: Option<Value> = serde_json::from_str(annotation.get()).ok();
    let found = annotation.as_ref().and_then(|value| nested(value, key));
    let count = match found {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        Some(Value::String(text)) => text.chars().count(),
        _ => 0,
    };
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

/// The value of `key` in `value` or, if it has none, in the first of its objects that has one.
fn nested<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let map = value.as_object()?;
    match map.get(key) {
        Some(found) => Some(found),
        None => map.values().find_map(|inner| nested(inner, key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn validity_is_as_python_has_it() {
        let read = |text: &str| Annotation::read(&raw(text));
        let valid = |text: &str| read(text).unwrap().is_valid;
        assert!(valid("{}") && valid(r#"{"is_valid":[0]}"#) && valid(r#"{"is_valid":"no"}"#));
        assert!(!valid(r#"{"is_valid":null}"#) && !valid(r#"{"is_valid":0}"#));
        assert_eq!(read(r#"{"is_safe":true}"#).unwrap().is_safe, Some(true));
        assert_eq!(read(r#"{"is_safe":null}"#).unwrap().is_safe, None);
        assert!(read(r#"{"is_safe":1}"#).is_none() && read("null").is_none());
    }

    #[test]
    fn half_a_surrogate_pair_beside_the_verdict_does_no_harm() {
        let annotation = raw(r#"{"is_safe":false,"metadata":{"text":"\ud83d"},"is_valid":true}"#);
        let annotation = Annotation::read(&annotation).unwrap();
        assert_eq!(
            (annotation.is_safe, annotation.is_valid),
            (Some(false), true)
        );
    }
}
