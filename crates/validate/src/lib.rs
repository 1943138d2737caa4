//! The published JSON Schemas of Probity's files, and the check of files against them.
//!
//! [`schema()`] creates the schema of a [`Kind`] of file from the Rust types; the schemas under `docs/schemas` are its output. [`check`]
//! reads a file or a folder and reports all errors with line, column, key path and reason: those by the schema, those by the types, those
//! by the rules within a file, and in the folder of a benchmark those by the rules between its files.
//!
//! ```
//! use validate::{Options, check};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("benchmark.yaml");
//! std::fs::write(&path, "description: x\nmetrics:\n- id: m01\n  name: Honest\n  type: positiv\n  definition: y\n")?;
//!
//! let report = check(&path, &Options::default())?;
//! let finding = &report.files[0].findings[0];
//! assert_eq!((finding.line, finding.column), (Some(5), Some(9)));
//! assert_eq!(finding.key, "metrics[0].type");
//! assert_eq!(finding.reason, "expected `positive` or `negative`, found \"positiv\"; did you mean `positive`?");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - A list of rows is read row by row: memory holds one row, of at most 256 MiB, and about a hundred bytes for each id. Any other JSON
//!   file, and YAML and TOML, are held in memory as a whole.
//! - A row that is not valid JSON ends the check of its list, because the start of the next row is unknown. So does a line of more than 256
//!   MiB. The first syntax error in YAML, TOML or a JSON object ends the check of its file.
//! - For a pack of test cases in CSV, and for rules of packs that the schema does not contain, only the first error is reported.
//! - Rules are checked only for files and rows that match their schema: fix the schema's errors first.
//! - Findings in journals have no column. The rules of journals are checked by [`journal::check::check`].
//! - Only the syntax of a configuration is checked unless [`Options::config`] supplies its reader: its keys belong to the caller. The same
//!   holds for the output of commands and [`Options::output`].
//! - The contents of `config` in a manifest, of requests and responses in journals, and of keys that are unknown to Probity are not
//!   checked.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod checker;
mod explain;
mod file;
mod kind;
mod near_keys;
mod options;
mod prompts;
mod recognise;
mod report;
mod rules;
mod schemas;
mod shapes;
mod syntax;
mod tree;
mod walk;

pub use kind::{Kind, UnknownKind};
pub use located::SourceLocation;
pub use options::{ConfigReader, Options, Unchecked};
pub use recognise::recognise;
pub use report::{FileReport, Finding, Report, Severity};
pub use schemas::{named, schema, schema_text};
pub use walk::{check, check_inputs};
