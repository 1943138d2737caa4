//! Unknown keys that are similar to a known one. Readers keep them without an effect.

use located::pointer;
use schema::nearest;
use serde_json::{Map, Value};

use crate::checker::Found;

/// The similar keys in `value`, which matches `root`: problems, or notes if the likely intended key
/// is also present.
pub(crate) fn near_keys(root: &Value, value: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    walk(root, root, value, "", &mut found);
    found
}

fn walk(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<Found>) {
    let schema = resolved(root, schema);
    match value {
        Value::Object(object) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            for (key, value) in object {
                let at = pointer::key(at, key);
                match properties.get(key) {
                    Some(schema) => walk(root, schema, value, &at, found),
                    None => found.extend(near(key, &at, object, properties)),
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (number, item) in items.iter().enumerate() {
                    walk(root, schema, item, &pointer::index(at, number), found);
                }
            }
        }
        _ => {}
    }
}

fn near(
    key: &str,
    at: &str,
    object: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> Option<Found> {
    let is_there = |known: &&str| object.contains_key(*known);
    let known = || properties.keys().map(String::as_str);
    if let Some(near) = nearest(key, known().filter(|known| !is_there(known))) {
        let reason = format!("unknown key `{key}` has no effect; did you mean `{near}`?");
        return Some(Found::problem(at, reason).at_key());
    }
    let near = nearest(key, known().filter(is_there))?;
    // Users may have keys such as `definition_2` and `name_de`.
    let is_own = key
        .strip_prefix(near)
        .is_some_and(|rest| rest.starts_with(|next: char| !next.is_alphabetic()));
    let reason = format!("unknown key `{key}` has no effect beside `{near}`");
    (!is_own).then(|| Found::note(at, reason).at_key())
}

/// The schema that `schema` refers to: itself, a definition, or the first of several alternatives.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let form = schema.pointer("/anyOf/0").unwrap_or(schema);
    let reference = form.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(form)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Kind, schema};

    #[test]
    fn only_keys_that_are_nearly_a_known_one_are_reported() {
        let value = json!({
            "world_stat": "x",
            "weight": 1,
            "description": "x",
            "descripton": "y",
            "description_de": "z",
            "metrics": [
                {"id": "m", "exmples": [], "examples": [], "examples2": []},
                {"id": "n", "exmples": []},
            ],
        });
        let found = near_keys(&schema(Kind::Benchmark).unwrap(), &value);
        let pointers: Vec<&str> = found.iter().map(|found| found.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/world_stat",
                "/descripton",
                "/metrics/0/exmples",
                "/metrics/1/exmples"
            ]
        );
        assert!(found[0].reason.contains("did you mean `world_state`?"));
        assert_eq!(
            found[1].reason,
            "unknown key `descripton` has no effect beside `description`"
        );
        let notes = [found[1].severity, found[2].severity];
        assert_eq!(notes, [crate::Severity::Note; 2]);
    }
}
