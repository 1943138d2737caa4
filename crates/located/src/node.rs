//! A text as a tree with the location of every part.

use serde_json::Value;

use crate::SourceLocation;

/// A value of a YAML or TOML text. An alias is the value that it refers to, at the location of the alias.
///
/// ```
/// use located::{Node, NodeValue};
///
/// let root = Node::yaml("name: gpt\nversion: 1.10\n")?;
/// let NodeValue::Table(entries) = root.value else { panic!("a table") };
/// let (key, version) = &entries[1];
/// assert_eq!((key.name.as_str(), key.location.line), ("version", 2));
/// assert!(matches!(&version.value, NodeValue::Plain { written, .. } if written == "1.10"));
/// # Ok::<(), located::YamlError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The beginning of the value.
    pub location: SourceLocation,
    /// The value.
    pub value: NodeValue,
}

/// The content of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Nothing, `~` or `null`.
    Null,
    /// A number or a boolean without quotes.
    Plain {
        /// The number or the boolean.
        value: Value,
        /// The text in the file: `1.10` and `007` stay unchanged.
        written: String,
    },
    /// Text. Only `true` and `false` are booleans, so `yes` and `no` are text, and so are `.nan` and `.inf`.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Vec<(Key, Node)>),
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The beginning of the key.
    pub location: SourceLocation,
    /// The key.
    pub name: String,
}
