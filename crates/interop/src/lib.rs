//! Results in the formats of other programs: Every Eval Ever, Inspect logs, transcripts of Petri, behaviours of Bloom, JUnit, CSV, JSONL, Parquet, and a
//! job summary in Markdown.
//!
//! Every exporter takes the same input: a [`Run`], with the facts about one target of one benchmark, and its [`Sample`]s one after
//! the other. [`import`] works in the other direction, and reads conversations of other programs; [`labels`]
//! reads labels of people.
//!
//! ```
//! use interop::{Exporter, Run, Sample, csv::Csv};
//! use schema::{Benchmark, Conversation, ModelId, Role, Scenario, Score, TargetRef, Turn};
//!
//! let benchmark: Benchmark = serde_json::from_str(
//!     r#"{"metrics": [{"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "It flatters."}]}"#,
//! )?;
//! let target = TargetRef { id: ModelId::new("careful")?, model: "lab/careful-1".to_owned() };
//! let run = Run::new(benchmark, "honesty", target.clone(), "2026-01-02T03:04:05Z".parse()?);
//! let scenario = Scenario { id: "m01_s001_v01".to_owned(), metric_id: "m01".to_owned(), ..Scenario::default() };
//! let transcript = vec![Turn::new(Role::User, "Is my poem good?"), Turn::new(Role::Assistant, "It is a start.")];
//! let conversation = Conversation::new(scenario, target, 0, transcript);
//! let score = Score::judged(&conversation, &run.benchmark.metrics[0], false, "No praise.");
//!
//! let folder = tempfile::tempdir()?;
//! let mut table = Box::new(Csv::new(folder.path()));
//! table.begin(&run)?;
//! table.push(&Sample::new(conversation, vec![score]))?;
//! table.end()?;
//! assert!(table.finish()?.files[0].ends_with("scores.csv"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Text only: images and audio are not represented.
//! - No format can represent all known data. `docs/interop.md` lists the losses of each.
//! - A Rust text cannot contain lone surrogates. A caller that reads them from a file has to replace or refuse them before.
//! - A file is written completely or not at all, but the files of one export do not appear together: after a crash some of them may
//!   exist.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod attribution;
pub mod bloom;
pub mod csv;
pub mod eee;
mod export;
pub mod figures;
pub mod import;
pub mod inspect;
pub mod json;
pub mod jsonl;
pub mod junit;
mod key_collisions;
pub mod labels;
pub mod otel;
pub mod parquet;
mod people_of_rows;
pub mod petri;
mod places;
mod run;
pub mod sheet;
pub mod summary;
mod tally;
mod target_rows;
mod text;
mod words;

pub use export::{ExportError, Exported, Exporter, OutFile};
pub use places::{MessagePosition, places};
pub use run::{Asked, Call, Judge, KnownSource, Run, Sample};
