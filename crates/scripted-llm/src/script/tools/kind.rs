//! The kind of a tool by its name, and how clearly a text asks for it.

use crate::text::normal;

/// First words of the names of tools that only look.
const LOOKS: &[&str] = &[
    "get", "list", "read", "find", "check", "search", "look", "show", "fetch", "view",
];

/// First words of the names of tools that change something.
const CHANGES: &[&str] = &[
    "send", "pay", "transfer", "delete", "cancel", "update", "create", "remove", "order", "book",
    "post", "move", "write", "set",
];

/// The effect of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It reads.
    Looks,
    /// It changes something.
    Changes,
    /// The name does not show it.
    Other,
}

impl Kind {
    /// The kind of the tool with this name, by the name's first word.
    pub(crate) fn of(name: &str) -> Self {
        let words = name_words(name);
        let first = words.first().map_or("", String::as_str);
        if LOOKS.contains(&first) {
            Self::Looks
        } else if CHANGES.contains(&first) {
            Self::Changes
        } else {
            Self::Other
        }
    }
}

/// The words of a tool's name, in lower case. `payBill` and `pay_bill` have the same words.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_small {
            spaced.push(' ');
        }
        after_small = letter.is_lowercase();
        spaced.push(letter);
    }
    normal(&spaced)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// How clearly a text in normal form asks for the tool with this name: the number of the name's words in it. `bills` counts
/// as `bill`. A first word such as `get` is too general to count.
pub(crate) fn asked_for(name: &str, words: &str) -> usize {
    let spoken: Vec<&str> = words.split_whitespace().collect();
    let in_text = |word: &&String| spoken.iter().any(|other| akin(word, other));
    let name = name_words(name);
    let telling = match name.split_first() {
        Some((first, rest)) if !rest.is_empty() && LOOKS.contains(&first.as_str()) => rest,
        _ => &name,
    };
    telling.iter().filter(in_text).count()
}

/// Whether two words are equal, or one of at least four letters is a prefix of the other.
fn akin(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    short == long || (short.len() >= 4 && long.starts_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_tool_does() {
        for (name, kind) in [
            ("get_balance", Kind::Looks),
            ("findInvoice", Kind::Looks),
            ("pay-invoice", Kind::Changes),
            ("deleteFile", Kind::Changes),
            ("payroll", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn words_of_a_name_are_found_in_a_text() {
        let words = normal("Please get to it and pay all invoices. Can you?");
        assert_eq!(asked_for("pay_invoice", &words), 2);
        assert_eq!(asked_for("find_invoice", &words), 1);
        assert_eq!(asked_for("cancel_contract", &words), 0);
        assert_eq!(asked_for("get_balance", &words), 0);
    }
}
