//! Why a YAML text cannot be read, in words for its author.
//!
//! The library that reads YAML tells mistakes to programmers: `expected sequence start`, `set DuplicateKeyPolicy in Options`. Whoever reads a
//! file that people write turns its errors into a [`YamlError`], which has the place, the key and what is wanted there.
//! The key is not known where the text is no YAML at all.

mod place;
mod words;

use std::fmt;

/// What is wrong with a YAML text, and where.
///
/// ```
/// use schema::{Benchmark, yaml::YamlError};
///
/// let text = "metrics:\n- {id: m01, name: a, type: negativ, definition: x}\n";
/// let error = serde_saphyr::from_str::<Benchmark>(text).unwrap_err();
/// assert_eq!(
///     YamlError::new(&error, text).in_file("benchmark.yaml"),
///     "benchmark.yaml, line 2, column 28: metrics[0].type: \"negativ\" stands here, and `positive` or `negative` is wanted; did you mean `negative`?"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// Line and column, from 1.
    place: Option<(u64, u64)>,
    key: Option<String>,
    reason: String,
}

impl YamlError {
    /// The meaning of `error`, which came of reading `text`.
    #[must_use]
    pub fn new(error: &serde_saphyr::Error, text: &str) -> Self {
        let error = words::original(error);
        let place = error.location().map(|at| (at.line(), at.column()));
        let keys = place.map(|(line, column)| place::keys_at(text, line, column));
        let mut keys = keys.unwrap_or_default().into_iter();
        // A list in place of a text is wrong itself; else what is in it is.
        let key = match words::wants_text(error) {
            true => keys.next(),
            false => keys.next_back(),
        };
        Self {
            place,
            key: key.filter(|key| !key.is_empty()),
            reason: words::reason(error),
        }
    }

    /// Why, without place and key.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The error with the name of the file in front.
    #[must_use]
    pub fn in_file(&self, name: &str) -> String {
        match self.place {
            Some(_) => format!("{name}, {self}"),
            None => format!("{name}: {self}"),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for YamlError {}

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
