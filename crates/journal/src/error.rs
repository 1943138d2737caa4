//! Errors of writing and reading a journal.

use std::io;

use schema::text::counted;

use crate::version::FORMAT_VERSION;

/// Why a journal cannot be written, or is incomplete. The text names the file and includes advice.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct JournalError(#[from] WriteFault);

#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WriteFault {
    #[error("cannot create the journal {name}: {reason}")]
    Create { name: String, reason: String },
    #[error("cannot start writing the journal {name}: {reason}")]
    Start { name: String, reason: String },
    #[error("the journal {name} is not complete: {missing}")]
    Incomplete { name: String, missing: Missing },
    #[error("the journal {name} is closed")]
    Closed { name: String },
}

/// How much of a journal is missing, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{reason}. {} written, {} lost. Make room or mend the disk, then run again",
    counted(*written, "event was", "events were"),
    counted(*lost, "was", "were")
)]
pub(crate) struct Missing {
    pub(crate) reason: String,
    pub(crate) written: u64,
    pub(crate) lost: u64,
}

impl JournalError {
    /// Why the journal is incomplete, without its name; the whole text if it was never created, or is closed.
    #[must_use]
    pub fn reason(&self) -> String {
        match &self.0 {
            WriteFault::Incomplete { missing, .. } => missing.to_string(),
            fault => fault.to_string(),
        }
    }

    /// Events that were recorded but are not in the file, as far as is known.
    #[must_use]
    pub fn lost(&self) -> u64 {
        match self.0 {
            WriteFault::Incomplete { ref missing, .. } => missing.lost,
            _ => 0,
        }
    }

    /// Events that are completely in the file.
    #[must_use]
    pub fn written(&self) -> u64 {
        match self.0 {
            WriteFault::Incomplete { ref missing, .. } => missing.written,
            _ => 0,
        }
    }
}

/// Why a journal, or one line of it, cannot be read. The text names the file and the line.
#[derive(Debug, thiserror::Error)]
#[error("{name}{place}: {fault}", place = self.place())]
pub struct ReadError {
    pub(crate) name: String,
    pub(crate) line: Option<u64>,
    pub(crate) fault: ReadFault,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFault {
    #[error("cannot open the journal: {0}")]
    Open(io::Error),
    #[error("this is a folder. Name the journal in it")]
    Folder,
    #[error("the file is empty")]
    Empty,
    #[error("this is no journal: {0}")]
    NotAJournal(String),
    #[error(
        "the journal has format version {0}, and this program reads {FORMAT_VERSION}. Use a later version of the program"
    )]
    Version(String),
    #[error("cannot read on: {0}")]
    Read(io::Error),
    #[error("the line is blank, and every line of a journal holds one event")]
    Blank,
    #[error("not one JSON object: {reason}, column {column}")]
    Json { reason: String, column: usize },
    #[error("the event has no `message` that is a text")]
    NoMessage,
    #[error("the line is longer than {0} MiB")]
    TooLong(u64),
}

impl ReadFault {
    /// A line is not JSON. For the parser a line of the journal is always line 1, so the line number is removed.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let reason = match text.rsplit_once(" at line ") {
            Some((reason, _)) => reason.to_owned(),
            None => text,
        };
        Self::Json {
            reason,
            column: error.column(),
        }
    }

    /// The first line is not an event, because of `fault`.
    pub(crate) fn not_a_journal(first_line: &[u8], fault: &Self) -> Self {
        let start = first_line
            .get(..first_line.len().min(512))
            .unwrap_or_default();
        let binary = start.starts_with(&[0x1f, 0x8b])
            || start
                .iter()
                .any(|byte| *byte < b' ' && !byte.is_ascii_whitespace());
        Self::NotAJournal(if binary {
            "it holds binary data. A journal is text with one JSON object a line, or such a text compressed with zstd".to_owned()
        } else {
            let is = match fault {
                Self::Json { .. } => "it is ",
                _ => "",
            };
            format!("its first line should be an event, but {is}{fault}")
        })
    }
}

impl ReadError {
    /// The line, from 1; `None` when the file could not be opened.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The error, without the file's name and the line.
    #[must_use]
    pub fn reason(&self) -> String {
        self.fault.to_string()
    }

    /// Whether the file is empty, as that of a run that was killed before it wrote a line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.fault, ReadFault::Empty)
    }

    /// Whether the following lines can still be read.
    #[must_use]
    pub fn is_one_line(&self) -> bool {
        matches!(
            self.fault,
            ReadFault::Blank | ReadFault::Json { .. } | ReadFault::NoMessage
        )
    }

    fn place(&self) -> String {
        self.line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default()
    }
}
