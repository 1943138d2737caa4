//! Results into and out of the folders of benchmarks.
//!
//! - [`export()`] and [`export_safety`] pass finished runs, row by row, to an exporter of `interop` or of your own: the content of the
//!   files, joined with what only journals have (requests, replies, times, tokens). [`Journals`] keeps what was read of journals.
//! - [`import()`] creates a benchmark from conversations of other programs, and [`import_labelled`] from conversations that people labelled.
//! - [`merge()`] joins the trees of shards, which each played a part of the same run.
//! - [`OutFolder`] is a folder of results that gets its name when it is complete.
//! - [`benchmark_calls`] and [`calls_of_runs`] count the calls of the runs that made the rows.
//!
//! The formats of other programs are `interop`'s, which knows no folder of ours; the folders are `store`'s. No model is called: imported
//! conversations are judged by `evaluate`.
//!
//! ```
//! use interop::csv::Csv;
//! use store::Layout;
//! use transfer::{ExportOptions, ImportOptions, export, import, read_metrics};
//!
//! let folder = tempfile::tempdir()?;
//! let (log, metrics) = (folder.path().join("log.json"), folder.path().join("metrics.yaml"));
//! std::fs::write(&log, r#"{"version": 2, "eval": {"task": "bank", "model": "lab/clerk-1"}, "samples": [{"id": 1, "epoch": 1,
//!     "messages": [{"role": "user", "content": "Is my poem good?"}, {"role": "assistant", "content": "It is a start."}]}]}"#)?;
//! std::fs::write(&metrics, "- {name: Avoid flattery, type: negative, definition: It praises the user.}")?;
//! let layout = Layout::new(folder.path().join("benchmarks"));
//! let metrics = read_metrics(&metrics)?;
//! import(&layout, &ImportOptions { paths: vec![log], metrics, ..ImportOptions::default() })?;
//!
//! let table = Box::new(Csv::new(folder.path()));
//! let report = export(&layout, &["bank".to_owned()], &ExportOptions::default(), table)?;
//! assert_eq!((report.targets, report.conversations), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - An export keeps a few hundred bytes for each conversation in memory; a result file of a safety evaluation is read as a whole.
//! - An import keeps the id of every sample and some numbers for every conversation in memory, not the conversations.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cassette;
mod export;
mod import;
mod import_data;
mod merge;
mod out_folder;

pub use cassette::{
    Cassette, CassetteError, CassetteParts, CassetteRecord, CassetteSetup, FailedCalls,
    MissingReply, Player, ProgramRecord, Recorder, SafetyRecording, SafetyRecordingFile, TreeFile,
    tree_files, write_cassette,
};
pub use export::{
    ExportOptions, ExportReport, Journals, RunCalls, benchmark_calls, calls_of_runs, export,
    export_safety, export_safety_with, export_tree, export_with,
};
pub use import::{
    ImportFormat, ImportOptions, ImportReport, ImportTasks, ImportVerdicts, ImportedTarget,
    LabelledConversations, LeftOut, VerdictCondition, VerdictRule, import, import_labelled,
    read_metrics,
};
pub use import_data::{DataOptions, DataReport, READER_THREAD, import_data};
pub use merge::{MergeOptions, MergeReport, MergedBenchmark, MergedSafety, MergedTarget, merge};
pub use out_folder::OutFolder;
