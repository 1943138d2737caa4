//! Parses a configuration file into a tree of values, each with its line.
//!
//! Names such as `gpt-4.10`, or a version used as an id, must stay as the user wrote them. Numbers are therefore kept as text here,
//! and the type of a numeric key parses the text. Only inside `extra_body`, which is sent as JSON, numbers stay numbers.

use schema::yaml::{Key, Node, NodeValue};
use serde_json::json;

use super::{
    error::{ConfigError, ConfigProblem},
    tree::{Data, Origin, Table, Value},
};

/// The key whose values are sent unchanged.
const FREE: &str = "extra_body";

/// The top-level table of the YAML text. `name` is the file's name in messages.
///
/// # Errors
/// When `text` is not YAML, or is not a single table.
pub fn yaml(name: &str, text: &str) -> Result<Table, ConfigError> {
    let file = File { name, text };
    let root = Node::parse(text).map_err(|error| {
        let location = error.location();
        let origin = Origin {
            name: name.to_owned(),
            line: location.map(|location| location.line),
            column: location.map(|location| location.column),
        };
        ConfigError::new(ConfigProblem::in_origin(origin, error.at_key()))
    })?;
    match file.yaml_value(root, None, false).map(|value| value.data) {
        Some(Data::Table(table)) => Ok(table),
        None => Ok(Table::new()),
        Some(_) => Err(ConfigError::new(ConfigProblem::in_origin(
            Origin::new(name),
            "expected `key: value` lines at the top level",
        ))),
    }
}

/// The top-level table of the TOML text. `name` is the file's name in messages.
///
/// # Errors
/// When `text` is not TOML.
pub fn toml(name: &str, text: &str) -> Result<Table, ConfigError> {
    let file = File { name, text };
    let table = toml::de::DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| file.line(span.start));
        let origin = Origin::new(name).at_line(line);
        let reason = format!("invalid TOML: {}", error.message());
        ConfigError::new(ConfigProblem::in_origin(origin, reason))
    })?;
    Ok(file.toml_table(table.into_inner(), false))
}

/// A value that was set outside a file: `[a, b]` and `{a: b}` are read as YAML, anything else is text.
///
/// # Errors
/// When the text begins like a list or a table but is not one.
pub fn inline(origin: &Origin, text: &str) -> Result<Value, ConfigError> {
    if !text.trim_start().starts_with(['[', '{']) {
        return Ok(Value::text(origin.clone(), text));
    }
    let table = yaml(&origin.name, &format!("value: {text}"))?;
    let value = table.into_values().next();
    let empty = || Value::text(origin.clone(), "");
    Ok(value.map_or_else(empty, |value| value.moved_to(origin)))
}

/// The file that values come from.
#[derive(Clone, Copy)]
struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn value(self, line: u64, data: Data) -> Value {
        let origin = Origin::new(self.name).at_line(Some(line));
        Value { origin, data }
    }

    /// The line of a byte offset, from 1.
    fn line(self, offset: usize) -> u64 {
        let text = self.text.as_bytes();
        let before = text.get(..offset).unwrap_or(text);
        before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
    }

    /// `None` for a key without a value, which keeps the default. For `free` values it is null instead.
    fn yaml_value(self, node: Node, key_line: Option<u64>, free: bool) -> Option<Value> {
        let line = key_line.unwrap_or(node.location.line);
        let data = match node.value {
            NodeValue::Null if free => Data::Json(serde_json::Value::Null),
            NodeValue::Null => return None,
            NodeValue::Plain { value, written } if free => free_value(value, written),
            NodeValue::Plain { written: text, .. } | NodeValue::Text(text) => Data::Text(text),
            NodeValue::List(items) => {
                let item = |item: Node| {
                    let line = item.location.line;
                    let value = self.yaml_value(item, None, free);
                    value.unwrap_or_else(|| self.value(line, Data::Json(serde_json::Value::Null)))
                };
                Data::List(items.into_iter().map(item).collect())
            }
            NodeValue::Table(entries) => {
                let entry = |(key, value): (Key, Node)| {
                    let free = free || key.name == FREE;
                    let value = match value.value {
                        NodeValue::Null if key.name == FREE => None,
                        _ => self.yaml_value(value, Some(key.location.line), free),
                    };
                    Some((key.name, value?))
                };
                Data::Table(entries.into_iter().filter_map(entry).collect())
            }
        };
        Some(self.value(line, data))
    }

    fn toml_table(self, table: toml::de::DeTable<'_>, free: bool) -> Table {
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
        let data = match value {
            DeValue::String(text) => Data::Text(text.into_owned()),
            DeValue::Boolean(value) if free => Data::Json(json!(value)),
            DeValue::Boolean(value) => Data::Text(value.to_string()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(value) if free => Data::Json(json!(value)),
                    Ok(value) if number.radix() != 10 => Data::Text(value.to_string()),
                    _ => Data::Text(number.as_str().to_owned()),
                }
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(value) if free => Data::Json(json!(value)),
                _ => Data::Text(number.as_str().to_owned()),
            },
            DeValue::Datetime(moment) => Data::Text(moment.to_string()),
            DeValue::Array(items) => {
                let item = |item: toml::Spanned<DeValue<'_>>| {
                    let line = self.line(item.span().start);
                    self.toml_value(item.into_inner(), line, free)
                };
                Data::List(items.into_iter().map(item).collect())
            }
            DeValue::Table(table) => Data::Table(self.toml_table(table, free)),
        };
        self.value(line, data)
    }
}

/// A number or a boolean that is sent to an endpoint. An integer above the signed 64-bit range is sent as text, because stored replies
/// depend on that form.
fn free_value(value: serde_json::Value, written: String) -> Data {
    match value.is_u64() && !value.is_i64() {
        true => Data::Text(written),
        false => Data::Json(value),
    }
}
