//! YAML and TOML as a JSON value, with the position of every part.

use std::collections::HashMap;

use schema::{
    json_pointer,
    yaml::{Key, Node, NodeValue},
};
use serde_json::{Map, Number, Value};

use crate::SourceLocation;

/// A parsed file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Its value.
    pub value: Value,
    /// By pointer, the positions of the key (or of the item, in a list) and of the value.
    pub places: HashMap<String, (SourceLocation, SourceLocation)>,
    /// By pointer, the written form of numbers and booleans: a reader that expects text reads `1.10` as
    /// `1.10`.
    pub written: HashMap<String, String>,
}

/// Why a text cannot be parsed.
#[derive(Debug)]
pub(crate) struct NoTree {
    /// The position, if known.
    pub place: Option<SourceLocation>,
    /// Why.
    pub reason: String,
}

/// The tree of a YAML text.
pub(crate) fn yaml(text: &str) -> Result<Tree, NoTree> {
    let root = Node::parse(text).map_err(|error| NoTree {
        place: error.location(),
        reason: error.reason().to_owned(),
    })?;
    let mut tree = Tree::default();
    tree.value = add_yaml(&mut tree, String::new(), root.location, root);
    Ok(tree)
}

/// Adds a value whose key is at `key`; for a value without a key, `key` is its own position.
fn add_yaml(tree: &mut Tree, path: String, key: SourceLocation, node: Node) -> Value {
    tree.places.insert(path.clone(), (key, node.location));
    match node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Text(text) => Value::String(text),
        NodeValue::Plain { value, written } => {
            tree.written.insert(path, written);
            value
        }
        NodeValue::List(items) => {
            let item = |(number, item): (usize, Node)| {
                add_yaml(
                    tree,
                    json_pointer::index(&path, number),
                    item.location,
                    item,
                )
            };
            Value::Array(items.into_iter().enumerate().map(item).collect())
        }
        NodeValue::Table(entries) => {
            let entry = |(key, value): (Key, Node)| {
                let path = json_pointer::key(&path, &key.name);
                let value = add_yaml(tree, path, key.location, value);
                (key.name, value)
            };
            Value::Object(entries.into_iter().map(entry).collect())
        }
    }
}

/// The tree of a TOML text.
pub(crate) fn toml(text: &str) -> Result<Tree, NoTree> {
    let lines = schema::json_locate::LineIndex::new(text.as_bytes(), SourceLocation::START);
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
    lines: &schema::json_locate::LineIndex<'_>,
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
                let path = json_pointer::index(path, number);
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
                let path = json_pointer::key(path, &key);
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
        assert!(error.reason.contains("duplicate key"), "{}", error.reason);
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
