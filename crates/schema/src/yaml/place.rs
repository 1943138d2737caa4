//! Which key stands at a place of a text, and in which line a key stands.

use super::{Node, NodeValue};
use crate::SourceLocation;

/// The key paths of what begins at `place`, such as `tools[0].simulated`; the outermost first, since a list begins where its
/// first item does. A key that stands there means what holds it. Empty where nothing begins there or the text is no YAML.
pub(super) fn keys_at(text: &str, place: SourceLocation) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(root) = Node::parse(text) {
        find(&root, "", place, &mut found);
    }
    found
}

/// The line of the value at the key path `key`; of a value of a table, that of its key.
pub(super) fn line_of(text: &str, key: &str) -> Option<u64> {
    let root = Node::parse(text).ok()?;
    let (mut node, mut line) = (&root, root.location.line);
    for step in key.split(['.', '[']) {
        match &node.value {
            NodeValue::List(items) => {
                let number: usize = step.strip_suffix(']')?.parse().ok()?;
                node = items.get(number)?;
                line = node.location.line;
            }
            NodeValue::Table(entries) => {
                let (key, value) = entries.iter().find(|(key, _)| key.name == step)?;
                node = value;
                line = key.location.line;
            }
            NodeValue::Null | NodeValue::Plain { .. } | NodeValue::Text(_) => return None,
        }
    }
    Some(line)
}

fn find(node: &Node, path: &str, place: SourceLocation, found: &mut Vec<String>) {
    if node.location == place {
        found.push(path.to_owned());
    }
    match &node.value {
        NodeValue::Null | NodeValue::Plain { .. } | NodeValue::Text(_) => {}
        NodeValue::List(items) => {
            for (number, item) in items.iter().enumerate() {
                find(item, &format!("{path}[{number}]"), place, found);
            }
        }
        NodeValue::Table(entries) => {
            for (key, value) in entries {
                if key.location == place {
                    found.push(path.to_owned());
                }
                let dot = if path.is_empty() { "" } else { "." };
                find(value, &format!("{path}{dot}{}", key.name), place, found);
            }
        }
    }
}
