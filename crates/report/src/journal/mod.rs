//! Journals: the history of an item, the events of a run, findings.

mod findings;
mod item;
mod time;

pub use findings::{JournalFinding, journal_findings};
pub use item::{JournalItem, JournalStep, journal_item, journal_line};
