//! Measures how language models behave under conversational pressure. This is the only crate that your own program has to depend on.
//!
//! [`Pipeline`] takes [`Phases`] (the shipped ones from [`standard_phases`], any of which can be replaced), a [`Layout`] of files and
//! [`RunOptions`], and runs benchmarks. [`config`] reads the settings of a run from a configuration file's text. [`plan()`] estimates
//! beforehand the calls of a run. [`safety`] runs safety evaluations. [`export()`], [`import()`], [`write_report`] and [`calibrate()`] work
//! on the files of finished runs; [`check_journal`] and [`rebuild`] on their journals.
//!
//! The underlying crates are re-exported by name ([`schema`], [`llm_client`], [`scenario_gen`], [`simulator`], [`evaluator`],
//! [`aggregator`], [`journal`], [`interop`], [`store`], [`mod@gate`], [`labels`], [`transfer`], [`engine`]), and what most programs need is in the [`prelude`].
//!
//! ```
//! use std::sync::Arc;
//! use probity::{PhaseSettings, Pipeline, RunOptions, RunOutcome, Session, demo, standard_phases};
//! use scripted_llm::ScriptedServer;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let folder = tempfile::tempdir()?;
//! let server = ScriptedServer::start().await?;
//! let session = Arc::new(Session::default());
//! let phases = standard_phases(demo::models(&session, &server.base_url())?, PhaseSettings::default())?;
//!
//! let pipeline = Pipeline::new(session, demo::layout(folder.path())?, phases, RunOptions::default());
//! let report = pipeline.run(&[demo::BENCHMARK.to_owned()]).await?;
//! assert_eq!(report.outcome(), RunOutcome::Complete);
//! assert!(!report.benchmarks[0].summaries.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - The limits of each part are documented with that part: [`engine`], [`store`], [`transfer`], [`llm_client`] and the phases.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod calibrate;
mod compare;
pub mod config;
pub mod demo;
mod metric_plans;
pub mod prelude;
mod report;
mod rows;
pub mod safety;
mod standard;
mod verdicts;

pub use self::report::{
    FormattedReport, ReportFormat, ReportGate, ReportPlace, ReportRequest, WrittenReport,
    empty_report, read_report, write_formatted, write_report,
};
pub use ::gate::{
    self, BaselineOptions, GateOptions, WrittenBaseline, baseline, baseline_safety, check_gate,
    check_safety_gate, gate, gate_safety,
};
pub use ::report::html::RowsKept;
pub use async_trait::async_trait;
pub use calibrate::{CalibrateOptions, Calibration, calibrate};
pub use compare::{CompareOptions, Compared, compare};
pub use engine::{
    AggregatorFactory, BenchmarkContext, BenchmarkReport, CalledModel, Concurrency, Counts,
    Expected, FailureGroup, Forecast, JournalEnd, JournalSet, JudgeGivenUp, KeptReason, KeptRows,
    NeededMetric, NeededScenarios, NoObserver, Observer, Outcome, PhaseFactory, Phases, Pipeline,
    PlanModel, PlanRow, PlanSettings, Progress, PromptChoice, Range, RunOptions, RunOutcome,
    RunReport, Runner, Session, SimulatorFactory, StopWhenDecided, forecast, needed_scenarios,
    plan, plan_judging, progress, unit,
};
pub use labels::{
    ImportedLabels, LabelImport, LabelOptions, LabelProgress, LabelRow, Labelling, check_judge,
    import_labels, read_label_file,
};
pub use metric_plans::{PlanQuestions, plan_metrics};
pub use rows::{
    FilteredExporter, ListedRow, ListedRows, RowCondition, RowFilter, ShownRow, Trial,
    TrialConversations, list_rows, make_trial, show_row,
};
pub use schema::Phase;
pub use standard::{Models, PhaseSettings, ToolServer, standard_phases};
pub use store::{
    BenchmarkDir, ImportRecord, Layout, Manifest, PROMPT_NAMES, RunError, RunErrorKind, TargetDir,
    check::{check_ended_run, check_journal, journal_benchmark},
    imported_targets, provenance,
    rebuild::{Rebuilt, rebuild},
    safety_results::{SafetySource, read_safety_file, safety_baseline_file},
};
pub use transfer::{
    Cassette, CassetteError, CassetteParts, CassetteRecord, CassetteSetup, DataOptions, DataReport,
    ExportOptions, ExportReport, FailedCalls, ImportFormat, ImportOptions, ImportReport,
    ImportTasks, ImportVerdicts, ImportedTarget, Journals, LabelledConversations, LeftOut,
    MergeOptions, MergeReport, MergedBenchmark, MergedSafety, MergedTarget, MissingReply,
    OutFolder, Player, READER_THREAD, Recorder, SafetyRecording, SafetyRecordingFile, TreeFile,
    VerdictCondition, VerdictRule, export, export_safety, export_tree, import, import_data,
    import_labelled, merge, read_metrics, tree_files, write_cassette,
};
pub use verdicts::target_verdicts;
pub use {
    aggregator, engine, evaluator, interop, journal, labels, llm_client, process, prompt,
    scenario_gen, schema, serde_json, simulator, store, transfer,
};
