//! Parses a YAML text into a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, Spanned};

use super::YamlError;
use crate::{Key, Node, NodeValue, SourceLocation};

impl Node {
    /// Parses the value of a YAML text. An empty text is [`NodeValue::Null`].
    ///
    /// # Errors
    /// When the text is not one YAML document, or a table has a duplicate key. The error shows nothing of the text except a
    /// key.
    pub fn yaml(text: &str) -> Result<Self, YamlError> {
        let options = serde_saphyr::options! {
            // A snippet of the file could show a secret.
            with_snippet: false,
            strict_booleans: true,
            non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        };
        let root: Spanned<Parsed> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| YamlError::of_syntax(&error))?;
        Ok(node(root, text))
    }
}

/// A value before its text is known.
enum Parsed {
    Null,
    Plain(Value),
    Text(String),
    List(Vec<Spanned<Parsed>>),
    Table(Vec<(Spanned<String>, Spanned<Parsed>)>),
}

fn node(parsed: Spanned<Parsed>, text: &str) -> Node {
    let value = match parsed.value {
        Parsed::Null => NodeValue::Null,
        Parsed::Plain(value) => NodeValue::Plain {
            written: written(&parsed.defined, text).unwrap_or_else(|| value.to_string()),
            value,
        },
        Parsed::Text(text) => NodeValue::Text(text),
        Parsed::List(items) => {
            NodeValue::List(items.into_iter().map(|item| node(item, text)).collect())
        }
        Parsed::Table(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<Parsed>)| {
                let key = Key {
                    location: location(&key.referenced),
                    name: key.value,
                };
                (key, node(value, text))
            };
            NodeValue::Table(entries.into_iter().map(entry).collect())
        }
    };
    Node {
        location: location(&parsed.referenced),
        value,
    }
}

/// The text of the value at `place`.
fn written(place: &Location, text: &str) -> Option<String> {
    let span = place.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    let written = text.get(start..start.checked_add(length)?)?;
    Some(written.trim().to_owned())
}

pub(super) fn location(place: &Location) -> SourceLocation {
    SourceLocation {
        line: place.line(),
        column: place.column(),
    }
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Null)
    }

    fn visit_none<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::Plain(value.into()))
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Parsed, E> {
        #[expect(clippy::cast_precision_loss, reason = "as JSON readers do")]
        let value = value as f64;
        self.visit_f64(value)
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Parsed, E> {
        #[expect(clippy::cast_precision_loss, reason = "as JSON readers do")]
        let value = value as f64;
        self.visit_f64(value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Parsed, E> {
        let number = Number::from_f64(value).map(Value::Number);
        Ok(number.map_or_else(|| Parsed::Text(value.to_string()), Parsed::Plain))
    }

    fn visit_str<E>(self, value: &str) -> Result<Parsed, E> {
        Ok(Parsed::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Parsed, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Parsed::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Parsed, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Parsed::Table(table))
    }
}
