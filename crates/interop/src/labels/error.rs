//! Errors of label files, with their location.

use std::fmt;

/// Why a file of labels cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {reason}", self.place().map_or_else(String::new, |place| format!(", {place}")))]
pub struct LabelFileError {
    file: String,
    place: Option<LinePlace>,
    reason: String,
    help: Option<String>,
}

impl LabelFileError {
    pub(super) fn new(file: &str, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            reason: reason.into(),
            help: None,
        }
    }

    pub(super) fn at(self, place: LinePlace) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// The location of the error; `None` for the file as a whole.
    #[must_use]
    pub fn place(&self) -> Option<LinePlace> {
        self.place
    }

    /// The error, without its location.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Advice, if there is any.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// The location of a row in a label file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePlace {
    /// The line, from 1.
    pub line: u64,
    /// The row, from 1, in a JSON list, where one line may contain several rows.
    pub row: Option<u64>,
}

impl fmt::Display for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Some(row) => write!(f, "row {row}, line {}", self.line),
            None => write!(f, "line {}", self.line),
        }
    }
}
