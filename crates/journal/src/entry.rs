//! One event as it is read.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// One line of a journal. Only `message` is always there: messages and fields that Probity does not know are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The line in the file, from 1.
    pub line: u64,
    /// When it was written, as the file has it. See [`Entry::time`].
    pub timestamp: Option<String>,
    /// The type of the event.
    pub message: String,
    /// The type that wrote it.
    pub class: Option<String>,
    /// The function that wrote it.
    pub method: Option<String>,
    /// The test that it belongs to. Entries of an item have all of `test`, `prompt_id` and `sut`; others may have some.
    pub test: Option<String>,
    /// The item's prompt.
    pub prompt_id: Option<String>,
    /// The system under test.
    pub sut: Option<String>,
    /// All other fields, in the order of the file. Fields of the names above are here when they are no text.
    pub fields: Map<String, Value>,
}

impl Entry {
    /// When it was written; `None` where the line has no timestamp, or one that is not a time.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.timestamp.as_deref()?.parse().ok()
    }
}
