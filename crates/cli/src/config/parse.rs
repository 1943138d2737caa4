//! A configuration file as a tree of `config` values, each with the line it is in.
//!
//! The readers that come with `config` turn `1.10` into the number 1.1 and forget lines. Names such as `gpt-4.10` or a
//! version used as an id must stay what the user wrote, so numbers are kept as their text here; whoever needs a number reads it
//! from the text. Only inside `extra_body`, which is sent on as JSON, numbers stay numbers.

use config::{Map, Value, ValueKind};
use schema::yaml::{Key, Node, NodeValue};

use super::{
    error::{ConfigError, ConfigProblem},
    place::Origin,
};

/// The key under which values are sent on as they are.
const FREE: &str = "extra_body";

/// The top-level table of the YAML text. `name` is the file's name for people.
///
/// # Errors
/// When `text` is not YAML, or something other than one table.
pub fn yaml(name: &str, text: &str) -> Result<Map<String, Value>, ConfigError> {
    let place = Place { file: name, text };
    let root = Node::parse(text).map_err(|error| {
        let location = error.location();
        let origin = Origin {
            name: name.to_owned(),
            line: location.map(|location| location.line),
            column: location.map(|location| location.column),
        };
        ConfigError::new(ConfigProblem::in_origin(origin, error.at_key()))
    })?;
    match place.yaml_value(root, None, false).kind {
        ValueKind::Table(table) => Ok(table),
        ValueKind::Nil => Ok(Map::new()),
        _ => Err(ConfigError::new(ConfigProblem::in_origin(
            Origin::new(name),
            "expected `key: value` lines at the top level",
        ))),
    }
}

/// The same for TOML.
///
/// # Errors
/// When `text` is not TOML.
pub fn toml(name: &str, text: &str) -> Result<Map<String, Value>, ConfigError> {
    let place = Place { file: name, text };
    let table = toml::de::DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| place.line(span.start));
        let origin = Origin::new(name).at_line(line);
        let reason = format!("invalid TOML: {}", error.message());
        ConfigError::new(ConfigProblem::in_origin(origin, reason))
    })?;
    Ok(place.toml_table(table.into_inner(), false))
}

/// A value that was given outside of a file: `[a, b]` and `{a: b}` are read as YAML, anything else is text.
///
/// # Errors
/// When the text begins like a list or a table and is none.
pub fn inline(origin: &str, text: &str) -> Result<Value, ConfigError> {
    if !text.trim_start().starts_with(['[', '{']) {
        return Ok(Value::new(Some(&origin.to_owned()), text));
    }
    let table = yaml(origin, &format!("value: {text}"))?;
    let value = table
        .into_iter()
        .next()
        .map(|(_, value)| value)
        .unwrap_or_default();
    Ok(replace_origin(value, origin))
}

fn replace_origin(value: Value, origin: &str) -> Value {
    let kind = match value.kind {
        ValueKind::Table(table) => ValueKind::Table(
            table
                .into_iter()
                .map(|(key, value)| (key, replace_origin(value, origin)))
                .collect(),
        ),
        ValueKind::Array(list) => ValueKind::Array(
            list.into_iter()
                .map(|value| replace_origin(value, origin))
                .collect(),
        ),
        kind => kind,
    };
    Value::new(Some(&origin.to_owned()), kind)
}

/// The file that values come from.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn origin(self, line: u64) -> String {
        Origin::new(self.file).at_line(Some(line)).to_string()
    }

    /// The line of a byte offset, from 1.
    fn line(self, offset: usize) -> u64 {
        let before = self
            .text
            .as_bytes()
            .get(..offset)
            .unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
    }

    fn yaml_value(self, node: Node, key_line: Option<u64>, free: bool) -> Value {
        let origin = self.origin(key_line.unwrap_or(node.location.line));
        let kind = match node.value {
            NodeValue::Null => ValueKind::Nil,
            NodeValue::Plain { value, written } if free => free_value(&value, written),
            NodeValue::Plain { written: text, .. } | NodeValue::Text(text) => {
                ValueKind::String(text)
            }
            NodeValue::List(items) => ValueKind::Array(
                items
                    .into_iter()
                    .map(|item| self.yaml_value(item, None, free))
                    .collect(),
            ),
            NodeValue::Table(entries) => {
                let entry = |(key, value): (Key, Node)| {
                    let free = free || key.name == FREE;
                    let value = self.yaml_value(value, Some(key.location.line), free);
                    // A key without a value leaves the default in place.
                    (free || value.kind != ValueKind::Nil).then_some((key.name, value))
                };
                ValueKind::Table(entries.into_iter().filter_map(entry).collect())
            }
        };
        Value::new(Some(&origin), kind)
    }

    fn toml_table(self, table: toml::de::DeTable<'_>, free: bool) -> Map<String, Value> {
        let entry = |(key, value): (
            toml::Spanned<toml::de::DeString<'_>>,
            toml::Spanned<toml::de::DeValue<'_>>,
        )| {
            let line = self.line(key.span().start);
            let key = key.into_inner().into_owned();
            let free = free || key == FREE;
            let value = self.toml_value(value.into_inner(), line, free);
            (key, value)
        };
        table.into_iter().map(entry).collect()
    }

    fn toml_value(self, value: toml::de::DeValue<'_>, line: u64, free: bool) -> Value {
        use toml::de::DeValue;
        let kind = match value {
            DeValue::String(text) => ValueKind::String(text.into_owned()),
            DeValue::Boolean(value) => ValueKind::Boolean(value),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(value) if free => ValueKind::I64(value),
                    Ok(value) if number.radix() != 10 => ValueKind::String(value.to_string()),
                    _ => ValueKind::String(number.as_str().to_owned()),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(value) if free => ValueKind::Float(value),
                _ => ValueKind::String(number.as_str().to_owned()),
            },
            DeValue::Datetime(moment) => ValueKind::String(moment.to_string()),
            DeValue::Array(items) => ValueKind::Array(
                items
                    .into_iter()
                    .map(|item| {
                        let line = self.line(item.span().start);
                        self.toml_value(item.into_inner(), line, free)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => ValueKind::Table(self.toml_table(table, free)),
        };
        Value::new(Some(&self.origin(line)), kind)
    }
}

/// A number or a boolean that is sent on. `config` has no integers above those of 64 bits with a sign.
fn free_value(value: &serde_json::Value, written: String) -> ValueKind {
    if let Some(value) = value.as_bool() {
        ValueKind::Boolean(value)
    } else if let Some(value) = value.as_i64() {
        ValueKind::I64(value)
    } else if value.is_u64() {
        ValueKind::String(written)
    } else {
        value
            .as_f64()
            .map_or(ValueKind::String(written), ValueKind::Float)
    }
}
