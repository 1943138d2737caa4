//! What is wrong with a file of labels, and where.

/// Why a file of labels cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {reason}", self.at_line_text())]
pub struct LabelFileError {
    file: String,
    line: Option<u64>,
    reason: String,
    help: Option<String>,
}

impl LabelFileError {
    pub(super) fn new(file: &str, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            reason: reason.into(),
            help: None,
        }
    }

    pub(super) fn at_line(self, line: u64) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// The error without the file's name: `line 3: what is wrong`.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.reason),
            None => self.reason.clone(),
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    fn at_line_text(&self) -> String {
        self.line
            .map_or_else(String::new, |line| format!(", line {line}"))
    }
}
