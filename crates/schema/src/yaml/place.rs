//! Which key stands at a place of a text.

use serde_saphyr::Spanned;

use crate::safety::pack::Node;

/// The key paths of what begins at `line` and `column`, such as `tools[0].simulated`; the outermost first, since a list begins where its
/// first item does. A key that stands there means what holds it. Empty where nothing begins there or the text is no YAML.
pub(super) fn keys_at(text: &str, line: u64, column: u64) -> Vec<String> {
    // Words such as `yes` are of no matter here, and keys that stand twice end the reading.
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let mut found = Vec::new();
    if let Ok(root) = serde_saphyr::from_str_with_options::<Spanned<Node>>(text, options) {
        find(&root, "", (line, column), &mut found);
    }
    found
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
