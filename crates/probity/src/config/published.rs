//! The JSON Schema of the configuration, generated from the types of its sections.

use schemars::{Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Map, Value, json};

use super::sections::Settings;

/// The JSON Schema of a configuration file. The caller sets its `$id` and title.
#[must_use]
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(as_read);
    let generator = settings.into_generator();
    generator.into_root_schema_for::<Settings>().to_value()
}

/// Adapts the schema to what the reader accepts in addition to the types: numbers and booleans may be a text with `${NAME}`, and a key
/// may be empty. Defaults are kept only for single values.
fn as_read(schema: &mut Schema) {
    transform_subschemas(&mut as_read, schema);
    let list = schema.get("required").cloned().unwrap_or_default();
    let required: Vec<&str> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (key, property) in properties.into_iter().flatten() {
        let Some(property) = property.as_object_mut() else {
            continue;
        };
        property.remove("writeOnly");
        let default = property.get("default");
        if default.is_some_and(|value| value.is_null() || value.is_object() || value.is_array()) {
            property.remove("default");
        }
        if !required.contains(&key.as_str()) {
            or(property, "null");
        }
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("format");
        let kinds = schema.get("type").map(Value::to_string).unwrap_or_default();
        if ["integer", "number", "boolean"]
            .iter()
            .any(|kind| kinds.contains(kind))
        {
            or(schema, "string");
        }
    }
}

/// Also allows values of the type `kind`.
fn or(schema: &mut Map<String, Value>, kind: &str) {
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|known| known == kind) => {
            kinds.push(json!(kind))
        }
        Some(Value::String(known)) if known != kind => schema["type"] = json!([known, kind]),
        Some(_) => {}
        None => {
            if let Some(reference) = schema.remove("$ref") {
                schema.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
            }
            let forms = schema.get_mut("anyOf").and_then(Value::as_array_mut);
            let kind = json!({"type": kind});
            if let Some(forms) = forms.filter(|forms| !forms.contains(&kind)) {
                forms.push(kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The key paths of the schema: `targets[].model` is `model`, for all models are documented in one table.
    fn keys(root: &Value, schema: &Value, at: &str, found: &mut BTreeSet<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let at = if reference.ends_with("/ModelTable") {
                ""
            } else {
                at
            };
            return keys(root, root.pointer(&reference[1..]).unwrap(), at, found);
        }
        for form in ["anyOf", "allOf"] {
            for schema in schema[form].as_array().into_iter().flatten() {
                keys(root, schema, at, found);
            }
        }
        if schema["items"].is_object() {
            keys(root, &schema["items"], at, found);
        }
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{at}{key}");
            if found.insert(path.clone()) {
                keys(root, schema, &format!("{path}."), found);
            }
        }
    }

    #[test]
    fn every_key_is_documented() {
        let schema = schema();
        let mut found = BTreeSet::new();
        keys(&schema, &schema, "", &mut found);
        assert!(found.contains("retries.max_attempts") && found.contains("reasoning_effort"));
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let configuration = fs::read_to_string(docs.join("configuration.md")).unwrap();
        let safety = fs::read_to_string(docs.join("safety.md")).unwrap();
        let targets = fs::read_to_string(docs.join("targets.md")).unwrap();
        let missing: Vec<&String> = found
            .iter()
            .filter(|path| {
                let key = path.rsplit('.').next().unwrap();
                // A page shows the keys of this block in examples.
                if path.starts_with("http.") {
                    return !targets.contains(key);
                }
                let (text, name) = match path.strip_prefix("safety.") {
                    Some(_) => (&safety, key),
                    None => (&configuration, path.as_str()),
                };
                let section = path.split('.').next().unwrap();
                // In a table of its own, or in the row of its section.
                let row = |line: &str| line.contains(section) && line.contains(key);
                !text.contains(&format!("`{name}`")) && !text.lines().any(row)
            })
            .collect();
        assert!(
            missing.is_empty(),
            "the documentation does not have {missing:#?}"
        );
    }

    #[test]
    fn the_schema_refuses_what_the_reader_refuses() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        for taken in [
            json!({"seed": "${SEED}", "run": {"concurrency": 3, "force": "yes"}}),
            json!({"run": {"concurrency": {"simulate": 3}}, "user_model": "openai/gpt-4.1"}),
            json!({"generation": {"metrics": [4, 6]}, "targets": [{"model": "m", "temperature": 0.5, "api_key": "x"}]}),
            json!({"generation": {"metrics": {"min": 1}}, "safety": {"judge_models": [{"model": "m"}], "strategies": "a,b"}}),
            json!({"generation": null, "demographics": {"age": [1, "b"]}, "cache": {"expiry": "30d"}}),
        ] {
            let errors: Vec<String> = validator
                .iter_errors(&taken)
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{taken}: {errors:?}");
        }
        for refused in [
            json!({"trgets": []}),
            json!({"run": {"dryrun": true}}),
            json!({"prompts": {"nope": "x"}}),
            json!({"generation": {"turns": 0}}),
            json!({"generation": {"max_tool_steps": 101}}),
            json!({"targets": {"id": "a"}}),
            json!({"targets": [{"model": "m", "temperature": 3}]}),
        ] {
            assert!(!validator.is_valid(&refused), "{refused}");
        }
    }
}
