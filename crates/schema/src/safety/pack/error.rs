//! What is wrong with a pack, and where.

use std::fmt;

/// Why a pack cannot be used: file, line, row, key, and what to do. Made to be read by people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackError {
    file: String,
    line: Option<u64>,
    row: Option<usize>,
    key: Option<String>,
    reason: String,
}

impl PackError {
    pub(super) fn new(file: &str, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            row: None,
            key: None,
            reason: reason.into(),
        }
    }

    pub(super) fn at_line(mut self, line: u64) -> Self {
        self.line = (line > 0).then_some(line);
        self
    }

    pub(super) fn in_row(mut self, row: usize) -> Self {
        self.row = Some(row);
        self
    }

    pub(super) fn at_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The file's name. Empty when the error is about no single file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line in the file, from 1.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The case in the file, from 1. A CSV header does not count.
    #[must_use]
    pub fn row(&self) -> Option<usize> {
        self.row
    }

    /// The key or column.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.file.is_empty() {
            parts.push(self.file.clone());
        }
        parts.extend(self.line.map(|line| format!("line {line}")));
        parts.extend(self.row.map(|row| format!("row {row}")));
        parts.extend(self.key.as_ref().map(|key| format!("key `{key}`")));
        if !parts.is_empty() {
            write!(f, "{}: ", parts.join(", "))?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for PackError {}
