//! The texts of YAML errors.

use serde_saphyr::Error;

use schema::{nearest, shown_name};

/// The error itself, without the excerpt of its location and the alias that led to it.
pub(super) fn original(error: &Error) -> &Error {
    match error.without_snippet() {
        Error::AliasError { error, .. } => original(error),
        error => error,
    }
}

/// Whether text was expected and something else found.
pub(super) fn wants_text(error: &Error) -> bool {
    matches!(error, Error::Unexpected { expected, .. } if kind(expected) == "text")
}

/// The mistake, and what to do if that is not obvious.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let known = expected.iter().copied();
            let shown = shown_name(field);
            match nearest(field, known) {
                Some(near) => format!("unknown key `{shown}`; did you mean `{near}`?"),
                None => format!("unknown key `{shown}`; known keys: {}", expected.join(", ")),
            }
        }
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => unknown_word(variant, expected),
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        }
        | Error::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => format!("expected {}, found {}", kind(expected), kind(unexpected)),
        Error::Unexpected { expected, .. } => format!("expected {}", kind(expected)),
        Error::InvalidBooleanStrict { .. } => "expected true or false".to_owned(),
        Error::InvalidScalar { ty, .. } => format!("expected {}", kind(ty)),
        Error::NullIntoString { .. } => {
            "expected text, found null; put the word in quotes if it is meant as text".to_owned()
        }
        error => format!("invalid YAML: {}", syntax(error)),
    }
}

/// The mistake in the syntax.
fn syntax(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("duplicate key `{}`", shown_name(key))
        }
        Error::DuplicateMappingKey { .. } => "duplicate key".to_owned(),
        Error::MultipleDocuments { .. } => "`---` begins a second document; remove one".to_owned(),
        Error::UnknownAnchor { .. } => {
            "no anchor (`&name`) of this name; put text that begins with `*` in quotes".to_owned()
        }
        Error::Budget { .. } => "the file is too large or too deep for YAML".to_owned(),
        Error::Eof { .. } => "the text ends too early".to_owned(),
        error => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let reason = first
                .split_once(" at line ")
                .map_or(first, |(reason, _)| reason);
            match reason.starts_with("tabs disallowed") {
                true => format!("{reason}. Indent with spaces"),
                false => reason.to_owned(),
            }
        }
    }
}

fn unknown_word(word: &str, known: &[&str]) -> String {
    let listed: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    let listed = match listed.as_slice() {
        [init @ .., last] if !init.is_empty() => format!("{} or {last}", init.join(", ")),
        listed => listed.concat(),
    };
    let hint = nearest(word, known.iter().copied())
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    format!("expected {listed}, found {word:?}{hint}")
}

/// A kind of value, as people call it.
fn kind(name: &str) -> &str {
    match name {
        "sequence start" | "sequence" | "a sequence" => "a list",
        "mapping start" | "map" | "a map" => "a table of `key: value`",
        name if name.starts_with("struct ") => "a table of `key: value`",
        "scalar" | "value" => "a value",
        "string scalar" | "string" | "a string" => "text",
        "boolean" | "a boolean" => "true or false",
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f32" | "f64" => "a number",
        name => name,
    }
}
