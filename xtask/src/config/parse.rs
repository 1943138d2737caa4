//! A configuration file as a tree of `config` values, each with the line it is in.
//!
//! The readers that come with `config` turn `1.10` into the number 1.1 and forget lines. Names such as `gpt-4.10` or a
//! version used as an id must stay what the user wrote, so numbers are kept as their text here; whoever needs a number reads it
//! from the text. Only inside `extra_body`, which is sent on as JSON, numbers stay numbers.

use config::{Map, Value, ValueKind};
use schema::yaml::YamlError;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::error::ConfigError;

/// The key under which values are sent on as they are.
const FREE: &str = "extra_body";

/// The top-level table of the YAML text. `name` is the file's name for people.
///
/// # Errors
/// When `text` is not YAML, or something other than one table.
pub fn yaml(name: &str, text: &str) -> Result<Map<String, Value>, ConfigError> {
    let place = Place { file: name, text };
    // A snippet of the file could show a key.
    let options = serde_saphyr::options! {
        with_snippet: false,
        // `no` and `y` are words to most people, and country codes.
        strict_booleans: true,
        // Whoever reads the number says what is wrong with it.
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let root: Spanned<Yaml> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ConfigError::new(YamlError::new(&error, text).in_file(name)))?;
    match place.yaml_value(root, None, false).kind {
        ValueKind::Table(table) => Ok(table),
        ValueKind::Nil => Ok(Map::new()),
        _ => Err(ConfigError::new(format!(
            "{name}: expected `key: value` lines at the top level"
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
        let line = error
            .span()
            .map(|span| format!(", line {}", place.line(span.start)));
        ConfigError::new(format!(
            "{name}{}: invalid TOML: {}",
            line.unwrap_or_default(),
            error.message()
        ))
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

/// A YAML value before it knows its place.
enum Yaml {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Yaml>>),
    Table(Vec<(Spanned<String>, Spanned<Yaml>)>),
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Yaml;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yaml, E> {
        Ok(Yaml::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Yaml, E> {
        Ok(Yaml::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Yaml, E> {
        Ok(i64::try_from(value).map_or_else(|_| Yaml::Text(value.to_string()), Yaml::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Yaml, E> {
        Ok(Yaml::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Yaml, E> {
        Ok(Yaml::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yaml, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Yaml::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Yaml, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Yaml::Table(table))
    }
}

/// The file that values come from.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn origin(self, line: u64) -> String {
        format!("{}, line {line}", self.file)
    }

    /// The line of a byte offset, from 1.
    fn line(self, offset: usize) -> usize {
        let before = self
            .text
            .as_bytes()
            .get(..offset)
            .unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn yaml_value(self, node: Spanned<Yaml>, key_line: Option<u64>, free: bool) -> Value {
        let origin = self.origin(key_line.unwrap_or_else(|| node.referenced.line()));
        let as_written = |otherwise: String| {
            let span = node.defined.span();
            let start = span.byte_offset().and_then(|at| usize::try_from(at).ok());
            let len = span.byte_len().and_then(|len| usize::try_from(len).ok());
            let written = start
                .zip(len)
                .and_then(|(start, len)| self.text.get(start..start.checked_add(len)?));
            ValueKind::String(written.map_or(otherwise, |written| written.trim().to_owned()))
        };
        let kind = match node.value {
            Yaml::Null => ValueKind::Nil,
            Yaml::Bool(value) if free => ValueKind::Boolean(value),
            Yaml::Bool(value) => as_written(value.to_string()),
            Yaml::Int(value) if free => ValueKind::I64(value),
            Yaml::Float(value) if free => ValueKind::Float(value),
            Yaml::Int(value) => as_written(value.to_string()),
            Yaml::Float(value) => as_written(value.to_string()),
            Yaml::Text(text) => ValueKind::String(text),
            Yaml::List(items) => ValueKind::Array(
                items
                    .into_iter()
                    .map(|item| self.yaml_value(item, None, free))
                    .collect(),
            ),
            Yaml::Table(entries) => {
                let entry = |(key, value): (Spanned<String>, Spanned<Yaml>)| {
                    let free = free || key.value == FREE;
                    let value = self.yaml_value(value, Some(key.referenced.line()), free);
                    // A key without a value leaves the default in place.
                    (free || value.kind != ValueKind::Nil).then_some((key.value, value))
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

    fn toml_value(self, value: toml::de::DeValue<'_>, line: usize, free: bool) -> Value {
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
        Value::new(Some(&self.origin(line as u64)), kind)
    }
}
