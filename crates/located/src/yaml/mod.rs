//! YAML texts: the tree, and errors explained to the author.
//!
//! The YAML library words mistakes for programmers: `expected sequence start`, `set DuplicateKeyPolicy in Options`. Readers of files that
//! people write turn its errors into a [`YamlError`], which has the location, the key and what was expected there. The key is unknown if
//! the text is not YAML at all.

mod parse;
mod place;
mod words;

use crate::SourceLocation;

/// A mistake in a YAML text, and its location.
///
/// ```
/// use located::YamlError;
/// use schema::Benchmark;
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
    /// Explains `error`, which comes from reading `text`.
    #[must_use]
    pub fn new(error: &serde_saphyr::Error, text: &str) -> Self {
        let error = words::original(error);
        let location = error.location().map(|place| parse::location(&place));
        let mut keys = location
            .map(|location| place::keys_at(text, location))
            .unwrap_or_default()
            .into_iter();
        // A list in place of a text is the mistake itself; otherwise the mistake is inside.
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

    /// Explains `error`, which comes from parsing a text that is not YAML: there are no keys.
    fn of_syntax(error: &serde_saphyr::Error) -> Self {
        Self::new(error, "")
    }

    /// The location, if it is known.
    #[must_use]
    pub fn location(&self) -> Option<SourceLocation> {
        self.location
    }

    /// Whether the text is larger or deeper than the limits for YAML.
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// The reason, without location and key.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The key path and the reason, without the location.
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

/// The line of the value at a key path such as `tools[0].parameters` in `text`, if there is one.
///
/// ```
/// let text = "tools:\n- name: pay\n  parameters:\n    type: object\n";
/// assert_eq!(located::line_of(text, "tools[0].parameters.type"), Some(4));
/// assert_eq!(located::line_of(text, "tools[1]"), None);
/// ```
#[must_use]
pub fn line_of(text: &str, key: &str) -> Option<u64> {
    place::line_of(text, key)
}

#[cfg(test)]
mod tests;
