//! Labels: what people say of the rows that a judge has a verdict on.
//!
//! - [`Labelling`] is the session of one person: it shows rows in an order that is the same for everyone, and stores every answer at once.
//! - [`import_labels`] takes labels that were made elsewhere, and writes all of a file or nothing.
//! - [`check_judge`] compares a judge with people whose labels are in no benchmark; [`read_label_file`] reads them.
//!
//! It shows nothing and reads no key: a terminal or a web page is the caller's. Labels are read and written by `store`, because statistics
//! need them; the order of rows and the corrected rates are `aggregator::statistics`; the columns of label files are `interop::labels`.
//!
//! ```
//! use labels::{LabelOptions, Labelling};
//! use store::Layout;
//!
//! let folder = tempfile::tempdir()?;
//! let root = folder.path().join("calm");
//! std::fs::create_dir_all(root.join("runs/gpt"))?;
//! std::fs::write(root.join("benchmark.yaml"), "metrics: [{id: m01, name: Calm, type: positive, definition: It stays calm.}]\n")?;
//! std::fs::write(root.join("scenarios.json"), r#"[{"id": "m01_s001_v01", "metric_id": "m01", "metric_name": "Calm", "metric_type": "positive"}]"#)?;
//! std::fs::write(
//!     root.join("runs/gpt/conversations.json"),
//!     r#"[{"id": "m01_s001_v01", "conv_id": "a", "metric_id": "m01", "transcript": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}]"#,
//! )?;
//! std::fs::write(
//!     root.join("runs/gpt/scores.json"),
//!     r#"[{"id": "m01_s001_v01", "conv_id": "a", "metric_id": "m01", "metric_type": "positive", "passed": true, "score": 1}]"#,
//! )?;
//!
//! let options = LabelOptions { labeller: "ada".to_owned(), ..LabelOptions::default() };
//! let mut session = Labelling::open(&Layout::new(folder.path()), "calm", &options)?;
//! let row = session.current()?.ok_or("a row")?;
//! assert_eq!(&*row.conversation.transcript[1].content, "Hello.");
//! session.answer(Some(true), None)?;
//! assert_eq!(session.progress().labelled, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - The ids of all rows of a target are in memory, and the conversations of the next 32.
//! - Two sessions on one target may run at a time: each answer is written under a lock of its file. Neither sees the other's answers until
//!   it is opened again.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod import;
mod judge_check;
mod session;

pub use import::{ImportedLabels, LabelImport, import_labels};
pub use judge_check::{check_judge, read_label_file};
pub use session::{LabelOptions, LabelProgress, LabelRow, Labelling};
