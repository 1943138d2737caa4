//! YAML and TOML as a JSON value, with the position of every part.

use std::collections::HashMap;

use located::{Key, Node, NodeValue, pointer};
use serde_json::Value;

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

impl Tree {
    fn of(root: Node) -> Self {
        let mut tree = Self::default();
        tree.value = tree.add(String::new(), root.location, root);
        tree
    }

    /// Adds a value whose key is at `key`; for a value without a key, `key` is its own position.
    fn add(&mut self, path: String, key: SourceLocation, node: Node) -> Value {
        self.places.insert(path.clone(), (key, node.location));
        match node.value {
            NodeValue::Null => Value::Null,
            NodeValue::Text(text) => Value::String(text),
            NodeValue::Plain { value, written } => {
                self.written.insert(path, written);
                value
            }
            NodeValue::List(items) => {
                let item = |(number, item): (usize, Node)| {
                    self.add(pointer::index(&path, number), item.location, item)
                };
                Value::Array(items.into_iter().enumerate().map(item).collect())
            }
            NodeValue::Table(entries) => {
                let entry = |(key, value): (Key, Node)| {
                    let path = pointer::key(&path, &key.name);
                    let value = self.add(path, key.location, value);
                    (key.name, value)
                };
                Value::Object(entries.into_iter().map(entry).collect())
            }
        }
    }
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
    let root = Node::yaml(text).map_err(|error| NoTree {
        place: error.location(),
        reason: error.reason().to_owned(),
    })?;
    Ok(Tree::of(root))
}

/// The tree of a TOML text.
pub(crate) fn toml(text: &str) -> Result<Tree, NoTree> {
    let root = Node::toml(text).map_err(|error| NoTree {
        place: error.location,
        reason: error.to_string(),
    })?;
    Ok(Tree::of(root))
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
