//! The published JSON Schemas of Probity's files, and the check of files against them.
//!
//! [`schema()`] makes the schema of a [`Kind`] of file out of the Rust types; those under `docs/schemas` are its output. [`check`] looks at a
//! file or a folder and tells all that is wrong with it, each with line, column, key path and reason: what the schema says,
//! what the types say, the rules within a file, and in the folder of a benchmark those between its files.
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
//! - A list of rows is read row by row: memory holds one row, of 256 MiB at most, and about a hundred bytes for each id. Any other JSON file, and
//!   YAML and TOML, are held as a whole.
//! - A row that is not JSON ends the look at its list: where the next row begins is unknown. So does a line of more than 256 MiB.
//!   The first mistake in the syntax of YAML, TOML or a JSON object ends the look at its file.
//! - A pack of test cases in CSV, and rules of packs that the schema does not have, are reported up to the first mistake.
//! - Rules are checked on a file, or of a row, that fits its schema: what the schema says is to be fixed first.
//! - Columns are not known in journals. Their rules are checked by [`journal::check::check`].
//! - Of a configuration, only the syntax is checked unless [`Options::config`] brings its reader: its keys belong to the caller.
//! - What is inside of `config` of a manifest, of requests and responses in journals, and of keys that Probity does not know is not looked at.

mod checker;
mod explain;
mod file;
mod json;
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
pub use options::{ConfigReader, Options, Unchecked};
pub use recognise::recognise;
pub use report::{FileReport, Finding, Report, Severity};
pub use schema::SourceLocation;
pub use schemas::{named, schema, schema_text};
pub use walk::{check, check_inputs};
