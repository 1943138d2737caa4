//! Which key stands at a place of a text, and in which line a key stands.

use serde_saphyr::Spanned;

use crate::safety::pack::Node;

/// The key paths of what begins at `line` and `column`, such as `tools[0].simulated`; the outermost first, since a list begins where its
/// first item does. A key that stands there means what holds it. Empty where nothing begins there or the text is no YAML.
pub(super) fn keys_at(text: &str, line: u64, column: u64) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(root) = tree(text) {
        find(&root, "", (line, column), &mut found);
    }
    found
}

/// The line of the value at the key path `key`; of a value of a table, that of its key.
pub(super) fn line_of(text: &str, key: &str) -> Option<u64> {
    let root = tree(text)?;
    let (mut node, mut line) = (&root, root.referenced.line());
    for step in key.split(['.', '[']) {
        match &node.value {
            Node::List(items) => {
                let number: usize = step.strip_suffix(']')?.parse().ok()?;
                node = items.get(number)?;
                line = node.referenced.line();
            }
            Node::Table(entries) => {
                let (key, value) = entries.iter().find(|(key, _)| key.value == step)?;
                node = value;
                line = key.referenced.line();
            }
            Node::Null | Node::Scalar(_) => return None,
        }
    }
    Some(line)
}

fn tree(text: &str) -> Option<Spanned<Node>> {
    // Words such as `yes` are of no matter here, and keys that stand twice end the reading.
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}

fn find(node: &Spanned<Node>, path: &str, place: (u64, u64), found: &mut Vec<String>) {
    let at = (node.referenced.line(), node.referenced.column());
    if at == place {
        found.push(path.to_owned());
    }
    match &node.value {
        Node::Null | Node::Scalar(_) => {}
        Node::List(items) => {
            for (number, item) in items.iter().enumerate() {
                find(item, &format!("{path}[{number}]"), place, found);
            }
        }
        Node::Table(entries) => {
            for (key, value) in entries {
                let at = (key.referenced.line(), key.referenced.column());
                if at == place {
                    found.push(path.to_owned());
                }
                let dot = if path.is_empty() { "" } else { "." };
                find(value, &format!("{path}{dot}{}", key.value), place, found);
            }
        }
    }
}
