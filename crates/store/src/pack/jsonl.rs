//! Packs in JSONL, with one JSON object a line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{
    PackError,
    row::{Row, RowField, RowValue},
};

/// The rows of a JSONL text. Blank lines are skipped.
pub(super) fn rows(name: &str, text: &str) -> Result<Vec<Row>, PackError> {
    let mut rows = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        let Object(entries) = serde_json::from_str(content).map_err(|error| {
            let text = error.to_string();
            let reason = text
                .rsplit_once(" at line ")
                .map_or(text.as_str(), |(reason, _)| reason);
            let column = match error.column() {
                0 => String::new(),
                column => format!(" (column {column})"),
            };
            PackError::new(name, format!("not a JSON object: {reason}{column}")).at_line(line)
        })?;
        let field = |(key, value): (String, Value)| RowField {
            key,
            line,
            value: value_of(value),
        };
        rows.push(Row {
            line,
            fields: entries.into_iter().map(field).collect(),
        });
    }
    Ok(rows)
}

fn value_of(value: Value) -> RowValue {
    match value {
        Value::Null => RowValue::Null,
        Value::String(text) => RowValue::Text(text),
        Value::Number(number) => RowValue::Text(number.to_string()),
        Value::Array(items) => RowValue::List(items.into_iter().map(value_of).collect()),
        other => RowValue::Other(schema::reply::kind_of(&other)),
    }
}

/// A JSON object that keeps duplicate keys, so that they can be refused.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
