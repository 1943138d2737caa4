//! Parses a TOML text into a tree.

use serde_json::{Number, Value};
use toml::{
    Spanned,
    de::{DeFloat, DeInteger, DeTable, DeValue},
};

use crate::{Key, Node, NodeValue, SourceLocation, json::LineIndex};

/// Why a text is not TOML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid TOML: {reason}")]
pub struct TomlError {
    /// The location, if it is known.
    pub location: Option<SourceLocation>,
    reason: String,
}

impl Node {
    /// Parses a TOML text. Its root is a table, and none of its values is [`NodeValue::Null`].
    ///
    /// # Errors
    /// When the text is not TOML.
    pub fn toml(text: &str) -> Result<Self, TomlError> {
        let source = TomlText {
            lines: LineIndex::new(text.as_bytes(), SourceLocation::START),
        };
        let root = DeTable::parse(text).map_err(|error| TomlError {
            location: error.span().map(|span| source.lines.place(span.start)),
            reason: error.message().to_owned(),
        })?;
        Ok(Self {
            location: SourceLocation::START,
            value: NodeValue::Table(source.entries(root.into_inner())),
        })
    }
}

struct TomlText<'t> {
    lines: LineIndex<'t>,
}

impl TomlText<'_> {
    fn entries(&self, table: DeTable<'_>) -> Vec<(Key, Node)> {
        let entry = |(key, value): (Spanned<toml::de::DeString<'_>>, Spanned<DeValue<'_>>)| {
            let key = Key {
                location: self.lines.place(key.span().start),
                name: key.into_inner().into_owned(),
            };
            (key, self.node(value))
        };
        table.into_iter().map(entry).collect()
    }

    fn node(&self, value: Spanned<DeValue<'_>>) -> Node {
        let location = self.lines.place(value.span().start);
        let value = match value.into_inner() {
            DeValue::String(text) => NodeValue::Text(text.into_owned()),
            DeValue::Boolean(value) => NodeValue::Plain {
                written: value.to_string(),
                value: value.into(),
            },
            DeValue::Integer(number) => integer(&number),
            DeValue::Float(number) => float(&number),
            DeValue::Datetime(moment) => NodeValue::Text(moment.to_string()),
            DeValue::Array(items) => {
                NodeValue::List(items.into_iter().map(|item| self.node(item)).collect())
            }
            DeValue::Table(table) => NodeValue::Table(self.entries(table)),
        };
        Node { location, value }
    }
}

/// A number, or text where it does not fit into 64 bits.
fn integer(number: &DeInteger<'_>) -> NodeValue {
    let text = number.as_str().to_owned();
    match i64::from_str_radix(&text, number.radix()) {
        Ok(value) => NodeValue::Plain {
            written: match number.radix() {
                10 => text,
                _ => value.to_string(),
            },
            value: value.into(),
        },
        Err(_) => NodeValue::Text(text),
    }
}

/// A number, or text where it is not finite.
fn float(number: &DeFloat<'_>) -> NodeValue {
    let written = number.as_str().to_owned();
    match written.parse().ok().and_then(Number::from_f64) {
        Some(value) => NodeValue::Plain {
            value: Value::Number(value),
            written,
        },
        None => NodeValue::Text(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_location_and_numbers_their_text() {
        let root = Node::toml("[a]\nb = [1.10,\n 0x1f]\n").unwrap();
        let table = |value: NodeValue| match value {
            NodeValue::Table(entries) => entries,
            other => panic!("{other:?}"),
        };
        let (_, a) = table(root.value).remove(0);
        let (key, list) = table(a.value).remove(0);
        assert_eq!(key.location, SourceLocation { line: 2, column: 1 });
        assert_eq!(list.location, SourceLocation { line: 2, column: 5 });
        let NodeValue::List(items) = list.value else {
            panic!("a list");
        };
        let numbers: Vec<_> = items
            .iter()
            .map(|item| match &item.value {
                NodeValue::Plain { value, written } => (value.to_string(), written.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            numbers,
            [("1.1".to_owned(), "1.10"), ("31".to_owned(), "31")]
        );
        assert_eq!(items[1].location, SourceLocation { line: 3, column: 2 });
    }

    #[test]
    fn an_error_has_its_line() {
        let error = Node::toml("a = 1\nb = \n").unwrap_err();
        assert_eq!(error.location.unwrap().line, 2);
        assert!(error.to_string().starts_with("invalid TOML: "), "{error}");
    }
}
