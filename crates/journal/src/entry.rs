//! One event, as read from the file.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// One line of a journal. Only `message` is always present: messages and fields that are unknown to Probity are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The line in the file, from 1.
    pub line: u64,
    /// When it was written, as text in the file. See [`Entry::time`].
    pub timestamp: Option<String>,
    /// The type of the event.
    pub message: String,
    /// The type that wrote it.
    pub class: Option<String>,
    /// The function that wrote it.
    pub method: Option<String>,
    /// The test of the event. Entries of an item have all of `test`, `prompt_id` and `sut`; others may have some.
    pub test: Option<String>,
    /// The item's prompt.
    pub prompt_id: Option<String>,
    /// The system under test.
    pub sut: Option<String>,
    /// All other fields, in the order of the file. Fields with the names above are here if they are not texts.
    pub fields: Map<String, Value>,
}

impl Entry {
    /// When the line was written; `None` if it has no timestamp, or one that is not a time.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.timestamp.as_deref()?.parse().ok()
    }
}
