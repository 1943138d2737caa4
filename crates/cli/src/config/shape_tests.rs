//! The published schema of the configuration has the keys that are read, and no others.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use validate::Kind;

use super::{layers::Merged, parse, read::Reader, sections, table::Table, vars::Vars};

/// A configuration that has every key of the schema.
fn example(root: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return example(root, root.pointer(&reference[1..]).unwrap());
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let is_null = |form: &&Value| form["type"] != "null";
        return example(root, forms.iter().find(is_null).unwrap());
    }
    let kinds = schema["type"].to_string();
    if kinds.contains("object") {
        let entry = |(key, schema): (&String, &Value)| (key.clone(), example(root, schema));
        let mut object: Map<String, Value> = match schema["properties"].as_object() {
            Some(properties) => properties.iter().map(entry).collect(),
            None => Map::new(),
        };
        if schema["additionalProperties"].is_object() {
            let value = example(root, &schema["additionalProperties"]);
            object.insert("x".to_owned(), value);
        }
        Value::Object(object)
    } else if kinds.contains("array") {
        json!([example(root, &schema["items"])])
    } else {
        json!("1")
    }
}

/// The key paths of a value.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let at = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                paths(value, &at, found);
                found.insert(at);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                paths(item, &format!("{at}[{number}]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_has_the_keys_that_are_read() {
    let schema = validate::schema(Kind::Config);
    let full = example(&schema, &schema);
    let merged = Merged {
        root: config::Value::new(None, parse::yaml("full", &full.to_string()).unwrap()),
        file: None,
        origin: "full".to_owned(),
    };
    let vars = Vars::default();
    let mut reader = Reader::new(&vars);
    let mut root = Table::root(merged.root, &merged.origin);
    sections::root(&mut root, &mut reader);
    root.finish(&mut reader);
    let told = reader.errors.iter().chain(&reader.warnings);
    let told = told.map(ToString::to_string);
    let unknown: Vec<String> = told.filter(|text| text.contains("unknown key")).collect();
    assert!(unknown.is_empty(), "the reader does not know {unknown:#?}");

    let mut published = BTreeSet::new();
    paths(&full, "", &mut published);
    // A range is given by a number here, and not by a table.
    let missing: Vec<&String> = reader
        .asked
        .iter()
        .filter(|path| !published.contains(*path) && !path.starts_with("generation.metrics."))
        .collect();
    assert!(missing.is_empty(), "the schema does not have {missing:#?}");
}
