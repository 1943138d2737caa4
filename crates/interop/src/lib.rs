//! Results in the formats that others read: Every Eval Ever, Inspect logs, JUnit, CSV, JSONL, and a job summary in Markdown.
//!
//! Every exporter takes the same input: a [`Run`], which tells what holds for one target of one benchmark, and its [`Sample`]s one
//! after the other.
//!
//! # Limits
//! - Lone surrogates cannot be in a Rust text; a reader of a journal or tree has replaced or refused them before.

mod attribution;
pub mod csv;
pub mod eee;
mod export;
pub mod inspect;
pub mod json;
pub mod jsonl;
pub mod junit;
mod run;
pub mod summary;
mod tally;
mod text;
mod words;

pub use export::{ExportError, Exported, Exporter, OutFile};
pub use run::{Asked, Call, Interval, Judge, Run, Sample};
