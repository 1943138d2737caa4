//! The run journal: append and read.
//!
//! A journal is a JSONL file, one event a line, that tells one whole run: what was asked, answered, judged and scored,
//! and what failed. Its file is `journal-<run id>.jsonl`.
//!
//! - [`JournalWriter`] appends. [`Journal::record`](schema::Journal::record) takes the time and hands the event to one
//!   thread that makes the line and writes it. What is older than a second is with the operating system, so it is there
//!   after the process was killed.
//! - [`JournalReader`] reads any journal of the same vocabulary, line by line, and says where a torn one ends.
//! - [`RunId`] names a run and its journal.
//!
//! ```
//! use journal::{JournalReader, JournalWriter, RunId};
//! use schema::{Event, Journal};
//!
//! let dir = tempfile::tempdir()?;
//! let journal = JournalWriter::create(dir.path(), &RunId::now())?;
//! journal.record(Event::new("running pipeline", "Pipeline", "run").with("rows", 12_u64));
//! let report = journal.close()?;
//! assert_eq!(report.written, 3); // with "starting journal" and "closing journal"
//!
//! let mut messages = Vec::new();
//! for entry in JournalReader::open(journal.path())? {
//!     messages.push(entry?.message);
//! }
//! assert_eq!(messages, ["starting journal", "running pipeline", "closing journal"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - When the disk cannot keep up, `record` waits: up to 2,048 events are on their way to the file. On an async
//!   runtime that blocks the calling thread for as long.
//! - After the first failed write nothing more is written, even if the disk has room again. Events are counted as lost.
//! - Up to a second of events is lost when the process is killed, and more when the machine goes down: only
//!   [`JournalWriter::sync`] and [`JournalWriter::close`] wait for the disk itself.
//! - Timestamps never go backward in the file. A clock that is set back during a run shows as one time that stands still.
//! - A line may be 256 MiB long at most when it is read.
//! - Compressed journals (`.jsonl.zst`) are neither written nor read, and the rules of a journal are not checked.

mod appender;
mod entry;
mod error;
mod line;
mod output;
mod queue;
mod reader;
mod run_id;
mod writer;

pub use entry::Entry;
pub use error::{JournalError, ReadError};
pub use reader::{JournalReader, Tear};
pub use run_id::{RunId, RunIdError};
pub use writer::{JournalReport, JournalWriter};
