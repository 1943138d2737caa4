//! Why a list of score rows cannot be summed up.

use std::io;

/// Why a `scores.json` cannot be summed up: which row, which line, and what is wrong. It does not know the file's name.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AggregateError(#[from] Kind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error("score row {row}, line {line}: {reason}")]
    Row { row: u64, line: u64, reason: String },
    #[error(
        "the list of scores ends in row {row}, line {line}: it was cut off. Evaluate again to write it anew"
    )]
    CutOff { row: u64, line: u64 },
    #[error("line {line}: {reason}")]
    List { line: u64, reason: String },
    #[error("cannot read on after score row {row}, line {line}: {error}")]
    Read {
        row: u64,
        line: u64,
        error: io::Error,
    },
}

impl AggregateError {
    /// The row that is at fault, from 1; `None` when the list as a whole is.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        match self.0 {
            Kind::Row { row, .. } | Kind::CutOff { row, .. } => Some(row),
            Kind::List { .. } | Kind::Read { .. } => None,
        }
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self.0 {
            Kind::Row { line, .. }
            | Kind::CutOff { line, .. }
            | Kind::List { line, .. }
            | Kind::Read { line, .. } => line,
        }
    }
}
