//! Why a list of rows cannot be summed up.

use std::io;

use schema::json_rows::{JsonRowsError, JsonRowsFault};

/// Why a `scores.json` cannot be summed up: which row, which line, and what is wrong. It does not know the file's name.
///
/// Rows and lines are counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum AggregateError {
    /// The list ends in the middle.
    #[error("the list ends in row {row}, line {line}: it was cut off")]
    CutOff {
        /// The row that is not whole.
        row: u64,
        /// Its line.
        line: u64,
    },
    /// The file cannot be read to its end.
    #[error("cannot read on after score row {row}, line {line}: {error}")]
    Read {
        /// The last row that was read.
        row: u64,
        /// Its line.
        line: u64,
        /// What the system says.
        error: io::Error,
    },
    /// A row is no score.
    #[error("score row {row}, line {line}: {fault}")]
    Row {
        /// The row.
        row: u64,
        /// Its line.
        line: u64,
        /// What is wrong with it.
        fault: JsonRowsFault,
    },
    /// The file is no list of rows.
    #[error("line {line}: {fault}")]
    List {
        /// The line.
        line: u64,
        /// What is wrong.
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
    /// The row that is at fault, from 1; `None` when the list as a whole is.
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
