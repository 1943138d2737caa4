//! Journals: the history of an item, the events of a run, tables.

mod item;
mod table;
mod time;

pub(crate) use time::seconds;

pub use item::{JournalItem, JournalStep, journal_item, journal_line};
pub use table::{JournalCell, JournalFinding, JournalTable, journal_findings, journal_tables};
