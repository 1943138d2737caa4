//! Finds the key at a location of a text, and the line of a key.

use crate::{Node, NodeValue, SourceLocation};

/// The key paths of the values that begin at `place`, such as `tools[0].simulated`, outermost first, since a list begins
/// where its first item does. For a key at this location, the path of its table is returned. Empty if nothing begins there
/// or the text is not YAML.
pub(super) fn keys_at(text: &str, place: SourceLocation) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(root) = Node::yaml(text) {
        find(&root, "", place, &mut found);
    }
    found
}

/// The line of the value at the key path `key`. For a value in a table, it is the line of the key.
pub(super) fn line_of(text: &str, key: &str) -> Option<u64> {
    let root = Node::yaml(text).ok()?;
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
