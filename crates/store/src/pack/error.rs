//! Mistakes in a pack, and their positions.

/// Why a pack cannot be used: file, line, row, key, and what to do. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
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

    /// The file's name. Empty if the error does not concern a single file.
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

    /// The reason, without the position.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// `file, line 3, row 2, key `prompt`: `, as far as it is known.
    fn place(&self) -> String {
        let file = Some(self.file.clone()).filter(|file| !file.is_empty());
        let line = self.line.map(|line| format!("line {line}"));
        let row = self.row.map(|row| format!("row {row}"));
        let key = self.key.as_ref().map(|key| format!("key `{key}`"));
        let parts: Vec<String> = [file, line, row, key].into_iter().flatten().collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!("{}: ", parts.join(", ")),
        }
    }
}
