//! Shortens long texts for a summary, to the lengths that Inspect uses.

use std::borrow::Cow;

use schema::Extra;
use serde_json::Value;

/// The most characters of a text in metadata and scores.
const TEXT: usize = 1024;

/// The most characters of the sample's input.
const INPUT: usize = 5120;

/// A text with its white space collapsed and at most 1024 characters.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let plain = |c: char| !c.is_whitespace() || c == ' ';
    if text.len() <= TEXT && text.chars().all(plain) && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    let mut short = String::with_capacity(text.len().min(TEXT));
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + usize::from(length > 0);
        if length + more > TEXT - 3 {
            short.push_str("...");
            break;
        }
        if length > 0 {
            short.push(' ');
        }
        short.push_str(word);
        length += more;
    }
    Cow::Owned(short)
}

/// The first 5120 characters.
pub(super) fn input(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(INPUT) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!(
            "{}...\n(content truncated)",
            text.get(..end).unwrap_or(text)
        )),
    }
}

/// Metadata with short texts, and a note in place of large values.
pub(super) fn extra(extra: &Extra) -> Extra {
    let thin = |value: &Value| match value {
        Value::String(long) => Value::String(text(long).into_owned()),
        Value::Array(_) | Value::Object(_) if value.to_string().len() > TEXT => {
            Value::from("Key removed from summary (> 1k)")
        }
        other => other.clone(),
    };
    extra
        .iter()
        .map(|(key, value)| (key.clone(), thin(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(text("a b"), "a b");
        assert_eq!(text("a \n b"), "a b");
        let long = "wörd ".repeat(1000);
        let short = text(&long);
        assert!(short.ends_with("wörd..."), "{short}");
        assert!(short.chars().count() <= TEXT);
        assert_eq!(input("é").as_ref(), "é");
        assert!(input(&"é".repeat(6000)).ends_with("é...\n(content truncated)"));
    }
}
