//! Why a list of score rows cannot be summed up.

use std::fmt;

use schema::json_rows::{JsonRowsError, JsonRowsFault};

/// Why a `scores.json` cannot be summed up: which row, which line, and what is wrong. It does not know the file's name.
#[derive(Debug)]
pub struct AggregateError(JsonRowsError);

impl From<JsonRowsError> for AggregateError {
    fn from(error: JsonRowsError) -> Self {
        Self(error)
    }
}

impl AggregateError {
    /// The row that is at fault, from 1; `None` when the list as a whole is.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        use JsonRowsFault::{CutOffInList, CutOffInRow, Row, Syntax, TooLong};
        let of_row = matches!(
            self.0.fault,
            Row(_) | Syntax(_) | TooLong | CutOffInRow | CutOffInList
        );
        of_row.then_some(self.0.row)
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.0.location.line
    }
}

impl fmt::Display for AggregateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, line, fault) = (self.0.row, self.line(), &self.0.fault);
        match fault {
            JsonRowsFault::CutOffInRow | JsonRowsFault::CutOffInList => write!(
                f,
                "the list of scores ends in row {row}, line {line}: it was cut off. Run `evaluate` again"
            ),
            JsonRowsFault::Read(error) => {
                write!(
                    f,
                    "cannot read on after score row {row}, line {line}: {error}"
                )
            }
            _ if self.row().is_some() => write!(f, "score row {row}, line {line}: {fault}"),
            _ => write!(f, "line {line}: {fault}"),
        }
    }
}

impl std::error::Error for AggregateError {}
