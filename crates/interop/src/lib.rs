//! Results in the formats that others read: Every Eval Ever, Inspect logs, JUnit, CSV, JSONL, and a job summary in Markdown.
//!
//! Every exporter takes the same input: a [`Run`], which tells what holds for one target of one benchmark, and its [`Sample`]s one
//! after the other.
//!
//! # Limits
//! - Lone surrogates cannot be in a Rust text; a reader of a journal or tree has replaced or refused them before.

mod export;
pub mod inspect;
pub mod json;
mod run;

pub use export::{ExportError, Exported, Exporter, OutFile};
pub use run::{Asked, Call, Interval, Judge, Run, Sample};
