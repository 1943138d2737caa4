//! Imports conversations from files of other programs: logs of Inspect, instance files of Every Eval Ever, results of promptfoo,
//! transcripts of Petri and Bloom, and rows of any program.
//!
//! A file is read twice: [`source`] returns the facts about the whole file, [`read`] returns one conversation after the other. The caller
//! decides how the conversations are used; `probity::import` makes a benchmark of them that evaluators judge.
//!
//! ```
//! use std::ops::ControlFlow;
//! use interop::import::{Format, Found, read, source};
//!
//! let folder = tempfile::tempdir()?;
//! let log = folder.path().join("log.json");
//! std::fs::write(&log, r#"{"version": 2, "status": "success", "eval": {"task": "bank", "model": "openai/gpt-4o"}, "samples": [
//!     {"id": 1, "epoch": 1, "messages": [
//!         {"role": "system", "content": "You are a clerk."},
//!         {"role": "user", "content": "Hello?"},
//!         {"role": "assistant", "content": [{"type": "text", "text": "Good morning."}]}]}]}"#)?;
//! assert_eq!(Format::of(&log)?, Some(Format::Inspect));
//! assert_eq!(source(Format::Inspect, &log)?.model, "openai/gpt-4o");
//!
//! let mut said = Vec::new();
//! read(Format::Inspect, &log, &mut |found| {
//!     if let Found::Conversation(conversation) = found {
//!         assert_eq!(conversation.system_prompt.as_deref(), Some("You are a clerk."));
//!         said.extend(conversation.transcript.iter().map(|turn| turn.content.to_string()));
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(said, ["Hello?", "Good morning."]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Memory holds one conversation, at most 512 MiB of an Inspect zip, and for Every Eval Ever a hash of each row.
//! - A results file of promptfoo, and a transcript of Petri or Bloom, is held in memory as a whole.
//! - Text only. An image or another part that is not text becomes a note such as `[image]`, and reasoning is kept beside the message.
//! - Inspect: the messages of a sample are read; its events only in logs with model roles, where the calls of the role `target` are the
//!   conversation. Tools are read if Probity wrote the log. Samples stored in chunks are refused.
//! - Every Eval Ever: a file holds one model. Arguments of calls are texts and remain texts. Several answers to one question become one
//!   message.
//! - `NaN` and infinities become null, and lone halves of surrogate pairs U+FFFD: JSON and UTF-8 cannot represent them.

mod calls;
mod clean;
mod eee;
mod error;
mod find;
mod inspect;
mod json_lines;
mod messages;
mod petri;
mod promptfoo;
mod recorded;
mod rows;
mod text;

use std::path::Path;

pub use error::ImportError;
pub use find::{Format, FoundFiles};
pub use inspect::{LogFault, check_inspect_log};
pub use recorded::{Found, Recorded, SourceFile, Take};

/// The facts about the file at `path` as a whole.
///
/// # Errors
/// When the file cannot be read, is cut off, or is of another format or version.
pub fn source(format: Format, path: &Path) -> Result<SourceFile, ImportError> {
    match format {
        Format::Inspect => inspect::source(path),
        Format::EveryEvalEver => eee::source(path),
        Format::Promptfoo => promptfoo::source(path),
        Format::Petri => petri::source(path),
        Format::Rows => rows::source(path),
    }
}

/// Passes the conversations of the file at `path` to `take`, in the order of the file, until `take` breaks. Returns the number of replaced
/// lone halves of surrogate pairs.
///
/// # Errors
/// See [`source`]; also when a conversation is invalid. Earlier conversations were already passed on.
pub fn read(format: Format, path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    match format {
        Format::Inspect => inspect::read(path, take),
        Format::EveryEvalEver => eee::read(path, take),
        Format::Promptfoo => promptfoo::read(path, take),
        Format::Petri => petri::read(path, take),
        Format::Rows => rows::read(path, take),
    }
}

/// The name of a file, without folders.
fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
