//! The run journal: write, read, replay and check.
//!
//! A journal is a JSONL file with one event per line that records one whole run: every call and reply, verdict and score, and
//! every failure. Its file is `journal-<run id>.jsonl`, or `journal-<run id>.jsonl.zst` when it is compressed.
//!
//! - [`JournalWriter`] appends. [`Journal::record`](schema::Journal::record) takes the time, creates the line and passes it to one
//!   thread that writes. Within a second, events are passed to the operating system, so they survive when the process is killed,
//!   in either [`Form`].
//! - [`ItemTurns`] names the calls of an item and summarises them. Rows that come whole from the cache refer to an earlier journal where
//!   [`EarlierItems`] finds them there, by their [`ItemContent`].
//! - [`JournalReader`] reads any journal with the same messages, line by line, and reports where a torn one ends. A [`Line`]
//!   borrows from the reader, an [`Entry`] owns its fields. A [`JournalFollower`] reads only what was appended since the last time.
//! - [`Replay`] returns the events of a journal with their types, each with the history of its item. [`PartialEvent`] is an
//!   event of a line that may lack fields.
//! - [`check`](check::check) checks the consistency rules. A [`JournalVisitor`] reads a journal in the pass of another reader.
//! - [`ItemTimelines`] and [`ItemRenderer`] describe events in words, [`StatsBuilder`] counts, [`Scores`] lists the scores.
//! - [`RunId`] names a run and its journal.
//!
//! ```
//! use journal::{JournalReader, JournalWriter, RunId};
//! use schema::{Event, EventBody, Journal, event::RunningPipeline};
//!
//! let dir = tempfile::tempdir()?;
//! let journal = JournalWriter::create(dir.path(), &RunId::now())?;
//! journal.record(Event::new(EventBody::RunningPipeline(RunningPipeline {})));
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
//! - When the disk is too slow, `record` waits: about 2 MiB of lines are buffered, and more only if a single line is longer. On an
//!   async runtime this blocks the calling thread.
//! - After the first failed write nothing more is written, even if the disk has room again. Later events are counted as lost.
//! - Up to a second of events is lost when the process is killed. The file is synced to the disk every
//!   second, without waiting for it; only [`JournalWriter::sync`] and [`JournalWriter::close`] wait.
//! - After a failed write of a compressed journal, lines that were packed but not yet passed on count as lost, although some of
//!   them may be in the file.
//! - Timestamps never go backward in the file. When a clock is set back during a run, the time stands still until the clock
//!   catches up.
//! - [`ItemTimelines`] holds the selected items in memory; [`StatsBuilder`] counts 100 models and 500 types of events
//!   separately and the rest together.
//! - A line may be at most 256 MiB long when it is read.
//! - Nothing after the damage in a damaged zstd frame is read, even if whole frames follow.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod appender;
mod blank;
mod call;
pub mod check;
mod clock;
mod cut_off;
mod entry;
mod error;
mod follow;
mod form;
mod item_content;
mod kept;
mod line;
mod line_buffer;
mod line_view;
mod output;
mod pack;
mod partial_event;
mod queue;
mod reader;
mod replay;
mod run_id;
mod scores;
mod shared_messages;
mod show;
mod stats;
mod turns;
mod unpack;
mod version;
mod writer;

pub use blank::is_blank;
pub use call::{Call, CallEnding, CallRole, KeptCalls};
pub use cut_off::CutOff;
pub use entry::Entry;
pub use error::{JournalError, ReadError};
pub use follow::JournalFollower;
pub use form::{Form, index_name, is_index_name, item_table_name};
pub use item_content::{ContentHash, EarlierItem, EarlierItems, ItemContent};
pub use line_view::Line;
pub use partial_event::PartialEvent;
pub use reader::{JournalPosition, JournalReader};
pub use replay::{Calls, ItemHistory, JournalVisitor, JournalVisitors, Replay, Replayed, Scope};
pub use run_id::{RunId, RunIdError};
pub use scores::{ScoreRow, Scores};
pub use show::{
    Filter, ItemRenderer, ItemTimeline, ItemTimelines, Section, Since, SinceError, Step,
};
pub use stats::{
    Bucket, CallStats, CallTotals, EventCount, Latency, OverTime, RetryCount, Stats, StatsBuilder,
    Used,
};
pub use turns::ItemTurns;
pub use unpack::JournalSource;
pub use version::FORMAT_VERSION;
pub use writer::{JournalReport, JournalWriter};
