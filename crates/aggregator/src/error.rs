//! Why a list of rows cannot be aggregated.

use std::io;

use located::json::{JsonRowsError, JsonRowsFault};

/// Why a `scores.json` cannot be aggregated: the row, the line, and the error. It does not contain the file's name.
///
/// Rows and lines are counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum AggregateError {
    /// The list ends too early.
    #[error("the list ends in row {row}, line {line}: it was cut off")]
    CutOff {
        /// The incomplete row.
        row: u64,
        /// Its line.
        line: u64,
    },
    /// The file cannot be read to the end.
    #[error("cannot read on after score row {row}, line {line}: {error}")]
    Read {
        /// The last row that was read.
        row: u64,
        /// Its line.
        line: u64,
        /// The operating system's error.
        error: io::Error,
    },
    /// A row is not a score.
    #[error("score row {row}, line {line}: {fault}")]
    Row {
        /// The row.
        row: u64,
        /// Its line.
        line: u64,
        /// The error.
        fault: JsonRowsFault,
    },
    /// The file is not a list of rows.
    #[error("line {line}: {fault}")]
    List {
        /// The line.
        line: u64,
        /// The error.
        fault: JsonRowsFault,
    },
}

impl From<JsonRowsError> for AggregateError {
    fn from(error: JsonRowsError) -> Self {
        let (row, line) = (error.row, error.location.line);
        match error.fault {
            JsonRowsFault::CutOffInRow | JsonRowsFault::CutOffInList => Self::CutOff { row, line },
            JsonRowsFault::Read(error) => Self::Read { row, line, error },
            fault @ (JsonRowsFault::Row(_) | JsonRowsFault::Syntax(_) | JsonRowsFault::TooLong) => {
                Self::Row { row, line, fault }
            }
            fault => Self::List { line, fault },
        }
    }
}

impl AggregateError {
    /// The row of the error, from 1; `None` if the error concerns the list as a whole.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        match self {
            Self::CutOff { row, .. } | Self::Row { row, .. } => Some(*row),
            Self::Read { .. } | Self::List { .. } => None,
        }
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self {
            Self::CutOff { line, .. }
            | Self::Read { line, .. }
            | Self::Row { line, .. }
            | Self::List { line, .. } => *line,
        }
    }
}
