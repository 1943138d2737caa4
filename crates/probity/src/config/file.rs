//! Parses a configuration file into a tree of values, each with its line.
//!
//! Names such as `gpt-4.10`, or a version used as an id, must stay as the user wrote them. Numbers are therefore kept as text here,
//! and the type of a numeric key parses the text. Only inside `extra_body`, `http` and `settings`, which are sent as JSON, numbers stay
//! numbers.

use located::{Key, Node, NodeValue, SourceLocation};

use super::{
    error::{ConfigError, ConfigProblem},
    tree::{Data, Origin, Table, Value},
};

/// The key whose values are sent unchanged.
const FREE: [&str; 3] = ["extra_body", "http", "settings"];

/// The top-level table of the YAML text. `name` is the file's name in messages.
///
/// # Errors
/// When `text` is not YAML, or is not a single table.
pub fn yaml(name: &str, text: &str) -> Result<Table, ConfigError> {
    let root =
        Node::yaml(text).map_err(|error| not_read(name, error.location(), error.at_key()))?;
    top_level(name, root)
}

/// The top-level table of the TOML text. `name` is the file's name in messages.
///
/// # Errors
/// When `text` is not TOML.
pub fn toml(name: &str, text: &str) -> Result<Table, ConfigError> {
    let root =
        Node::toml(text).map_err(|error| not_read(name, error.location, error.to_string()))?;
    top_level(name, root)
}

fn not_read(name: &str, location: Option<SourceLocation>, reason: String) -> ConfigError {
    let origin = Origin {
        name: name.to_owned(),
        line: location.map(|location| location.line),
        column: location.map(|location| location.column),
    };
    ConfigError::new(ConfigProblem::in_origin(origin, reason))
}

fn top_level(name: &str, root: Node) -> Result<Table, ConfigError> {
    match (File { name })
        .value(root, None, false)
        .map(|value| value.data)
    {
        Some(Data::Table(table)) => Ok(table),
        None => Ok(Table::new()),
        Some(_) => Err(ConfigError::new(ConfigProblem::in_origin(
            Origin::new(name),
            "expected `key: value` lines at the top level",
        ))),
    }
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
}

impl File<'_> {
    fn at(self, line: u64, data: Data) -> Value {
        let origin = Origin::new(self.name).at_line(Some(line));
        Value { origin, data }
    }

    /// `None` for a key without a value, which keeps the default. For `free` values it is null instead.
    fn value(self, node: Node, key_line: Option<u64>, free: bool) -> Option<Value> {
        let line = key_line.unwrap_or(node.location.line);
        let data = match node.value {
            NodeValue::Null if free => Data::Json(serde_json::Value::Null),
            NodeValue::Null => return None,
            NodeValue::Plain { value, written } if free => free_value(value, written),
            NodeValue::Plain { written: text, .. } | NodeValue::Text(text) => Data::Text(text),
            NodeValue::List(items) => {
                let item = |item: Node| {
                    let line = item.location.line;
                    let value = self.value(item, None, free);
                    value.unwrap_or_else(|| self.at(line, Data::Json(serde_json::Value::Null)))
                };
                Data::List(items.into_iter().map(item).collect())
            }
            NodeValue::Table(entries) => {
                let entry = |(key, value): (Key, Node)| {
                    let free = free || FREE.contains(&key.name.as_str());
                    let value = match value.value {
                        NodeValue::Null if FREE.contains(&key.name.as_str()) => None,
                        _ => self.value(value, Some(key.location.line), free),
                    };
                    Some((key.name, value?))
                };
                Data::Table(entries.into_iter().filter_map(entry).collect())
            }
        };
        Some(self.at(line, data))
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
