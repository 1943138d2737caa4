//! YAML and TOML as a JSON value, with the place of every part.

use std::{collections::HashMap, fmt};

use schema::yaml::YamlError;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use crate::{SourceLocation, pointer};

/// A parsed file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Its value.
    pub value: Value,
    /// By pointer, where the key stands (or the item, in a list), and where the value.
    pub places: HashMap<String, (SourceLocation, SourceLocation)>,
    /// By pointer, numbers and booleans as they are written: a reader that wants text takes `1.10` for `1.10`.
    pub written: HashMap<String, String>,
}

/// Why a text cannot be parsed.
#[derive(Debug)]
pub(crate) struct NoTree {
    /// Where, if that is known.
    pub place: Option<SourceLocation>,
    /// Why.
    pub reason: String,
}

/// The tree of a YAML text.
pub(crate) fn yaml(text: &str) -> Result<Tree, NoTree> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let root: Spanned<Yaml> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| no_yaml(&error))?;
    let mut tree = Tree::default();
    tree.value = add_yaml(&mut tree, text, String::new(), None, root);
    Ok(tree)
}

fn no_yaml(error: &serde_saphyr::Error) -> NoTree {
    let place = error.location().map(|at| SourceLocation {
        line: at.line(),
        column: at.column(),
    });
    let reason = match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { .. } => {
            "this is no valid YAML: a key stands twice".to_owned()
        }
        error => YamlError::new(error, "").reason().to_owned(),
    };
    NoTree { place, reason }
}

fn add_yaml(
    tree: &mut Tree,
    text: &str,
    path: String,
    key: Option<SourceLocation>,
    node: Spanned<Yaml>,
) -> Value {
    let at = SourceLocation {
        line: node.referenced.line(),
        column: node.referenced.column(),
    };
    let value = match node.value {
        Yaml::Scalar(value) => {
            if matches!(value, Value::Number(_) | Value::Bool(_)) {
                let span = node.defined.span();
                let start = span.byte_offset().and_then(|at| usize::try_from(at).ok());
                let len = span.byte_len().and_then(|len| usize::try_from(len).ok());
                let written = start
                    .zip(len)
                    .and_then(|(start, len)| text.get(start..start.checked_add(len)?));
                let written =
                    written.map_or_else(|| value.to_string(), |text| text.trim().to_owned());
                tree.written.insert(path.clone(), written);
            }
            value
        }
        Yaml::List(items) => {
            let item =
                |(number, item)| add_yaml(tree, text, pointer::index(&path, number), None, item);
            Value::Array(items.into_iter().enumerate().map(item).collect())
        }
        Yaml::Table(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                let key_at = SourceLocation {
                    line: key.referenced.line(),
                    column: key.referenced.column(),
                };
                let path = pointer::key(&path, &key.value);
                let value = add_yaml(tree, text, path, Some(key_at), value);
                object.insert(key.value, value);
            }
            Value::Object(object)
        }
    };
    tree.places.insert(path, (key.unwrap_or(at), at));
    value
}

/// A YAML value.
enum Yaml {
    Scalar(Value),
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

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Yaml, E> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "no field of ours takes so large a number"
        )]
        let value = value as f64;
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Yaml, E> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "no field of ours takes so large a number"
        )]
        let value = value as f64;
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Number::from_f64(value).map_or_else(
            || Value::String(value.to_string()),
            Value::Number,
        )))
    }

    fn visit_str<E>(self, value: &str) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
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

/// The tree of a TOML text.
pub(crate) fn toml(text: &str) -> Result<Tree, NoTree> {
    let lines = crate::json::Index::new(text.as_bytes(), SourceLocation::START);
    let root = toml::de::DeTable::parse(text).map_err(|error| NoTree {
        place: error.span().map(|span| lines.place(span.start)),
        reason: format!("this is no valid TOML: {}", error.message()),
    })?;
    let mut tree = Tree::default();
    tree.places.insert(
        String::new(),
        (SourceLocation::START, SourceLocation::START),
    );
    let table = toml::de::DeValue::Table(root.into_inner());
    tree.value = add_toml(&mut tree, &lines, "", table);
    Ok(tree)
}

fn add_toml(
    tree: &mut Tree,
    lines: &crate::json::Index<'_>,
    path: &str,
    value: toml::de::DeValue<'_>,
) -> Value {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::String(number.as_str().to_owned()), Value::from),
        DeValue::Float(number) => match number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
        {
            Some(number) => Value::Number(number),
            None => Value::String(number.as_str().to_owned()),
        },
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => {
            let mut list = Vec::new();
            for (number, item) in items.into_iter().enumerate() {
                let path = pointer::index(path, number);
                let at = lines.place(item.span().start);
                tree.places.insert(path.clone(), (at, at));
                list.push(add_toml(tree, lines, &path, item.into_inner()));
            }
            Value::Array(list)
        }
        DeValue::Table(table) => {
            let mut object = Map::new();
            for (key, value) in table {
                let places = (
                    lines.place(key.span().start),
                    lines.place(value.span().start),
                );
                let key = key.into_inner().into_owned();
                let path = pointer::key(path, &key);
                tree.places.insert(path.clone(), places);
                let value = add_toml(tree, lines, &path, value.into_inner());
                object.insert(key, value);
            }
            Value::Object(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tree: &Tree, pointer: &str) -> ((u64, u64), (u64, u64)) {
        let (key, value) = tree.places[pointer];
        ((key.line, key.column), (value.line, value.column))
    }

    #[test]
    fn yaml_has_the_place_of_every_part() {
        let tree = yaml("a: 1.10\nlist:\n- x: &here 2\n- *here\n").unwrap();
        assert_eq!(
            tree.value,
            serde_json::json!({"a": 1.1, "list": [{"x": 2}, 2]})
        );
        assert_eq!(at(&tree, "/a"), ((1, 1), (1, 4)));
        assert_eq!(at(&tree, "/list/0/x"), ((3, 3), (3, 12)));
        assert_eq!(tree.written["/a"], "1.10");
        let error = yaml("a:\n\tb: 2\n").unwrap_err();
        assert_eq!(error.place.unwrap().line, 2);
        let error = yaml("a: 1\na: 2\n").unwrap_err();
        assert!(error.reason.contains("stands twice"), "{}", error.reason);
        assert_eq!(error.place.unwrap().line, 2);
    }

    #[test]
    fn toml_has_the_place_of_every_part() {
        let tree = toml("[a]\nb = [1,\n 2]\n").unwrap();
        assert_eq!(tree.value, serde_json::json!({"a": {"b": [1, 2]}}));
        assert_eq!(at(&tree, "/a/b"), ((2, 1), (2, 5)));
        assert_eq!(at(&tree, "/a/b/1"), ((3, 2), (3, 2)));
        assert_eq!(toml("a = \n").unwrap_err().place.unwrap().line, 1);
    }
}
