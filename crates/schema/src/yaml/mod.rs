//! YAML texts: a tree with locations, and why a text cannot be read, in words for its author.
//!
//! The library that reads YAML words mistakes for programmers: `expected sequence start`, `set DuplicateKeyPolicy in Options`. The reader of a
//! file that people write turns its errors into a [`YamlError`], which has the place, the key and what was expected there.
//! The key is not known where the text is no YAML at all.

mod place;
mod tree;
mod words;

pub use tree::{Key, Node, NodeValue};

use crate::SourceLocation;

/// What is wrong with a YAML text, and where.
///
/// ```
/// use schema::{Benchmark, yaml::YamlError};
///
/// let text = "metrics:\n- {id: m01, name: a, type: negativ, definition: x}\n";
/// let error = serde_saphyr::from_str::<Benchmark>(text).unwrap_err();
/// assert_eq!(
///     YamlError::new(&error, text).in_file("benchmark.yaml"),
///     "benchmark.yaml, line 2, column 28: metrics[0].type: expected `positive` or `negative`, found \"negativ\"; did you mean `negative`?"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", shown_location(*.location), self.at_key())]
pub struct YamlError {
    location: Option<SourceLocation>,
    key: Option<String>,
    reason: String,
    is_too_large: bool,
}

impl YamlError {
    /// The meaning of `error`, from reading `text`.
    #[must_use]
    pub fn new(error: &serde_saphyr::Error, text: &str) -> Self {
        let error = words::original(error);
        let location = error.location().map(|place| tree::location(&place));
        let keys = location.map(|location| place::keys_at(text, location));
        let mut keys = keys.unwrap_or_default().into_iter();
        // A list in place of a text is wrong itself; else what is in it is.
        let key = match words::wants_text(error) {
            true => keys.next(),
            false => keys.next_back(),
        };
        Self {
            location,
            key: key.filter(|key| !key.is_empty()),
            reason: words::reason(error),
            is_too_large: matches!(error, serde_saphyr::Error::Budget { .. }),
        }
    }

    /// The meaning of `error`, from parsing a text that is no YAML: there are no keys.
    fn of_syntax(error: &serde_saphyr::Error) -> Self {
        Self::new(error, "")
    }

    /// Where, if that is known.
    #[must_use]
    pub fn location(&self) -> Option<SourceLocation> {
        self.location
    }

    /// Whether the text is larger or deeper than what is read of YAML.
    pub(crate) fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// Why, without place and key.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The key path and the reason, without the place.
    #[must_use]
    pub fn at_key(&self) -> String {
        match &self.key {
            Some(key) => format!("{key}: {}", self.reason),
            None => self.reason.clone(),
        }
    }

    /// The error with the name of the file in front.
    #[must_use]
    pub fn in_file(&self, name: &str) -> String {
        match self.location {
            Some(_) => format!("{name}, {self}"),
            None => format!("{name}: {self}"),
        }
    }
}

fn shown_location(location: Option<SourceLocation>) -> String {
    let shown = |SourceLocation { line, column }| format!("line {line}, column {column}: ");
    location.map(shown).unwrap_or_default()
}

/// The line in which the value at a key path such as `tools[0].parameters` stands in `text`, where there is one.
///
/// ```
/// let text = "tools:\n- name: pay\n  parameters:\n    type: object\n";
/// assert_eq!(schema::yaml::line_of(text, "tools[0].parameters.type"), Some(4));
/// assert_eq!(schema::yaml::line_of(text, "tools[1]"), None);
/// ```
#[must_use]
pub fn line_of(text: &str, key: &str) -> Option<u64> {
    place::line_of(text, key)
}

#[cfg(test)]
mod tests;
