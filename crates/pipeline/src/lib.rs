//! Runs the phases as one bounded, resumable, cancellable stream, and writes the benchmark tree.
//!
//! [`Pipeline`] takes [`Phases`] (the shipped ones by [`Phases::standard`], any of them replaced by one's own), a [`Layout`] of files and
//! [`RunOptions`], and runs benchmarks. Rows flow: a conversation is judged when it ends, all targets run side by side, memory
//! holds what is in flight. [`plan()`] tells beforehand what a run would ask for.
//!
//! ```
//! use llm_client::{HttpClient, HttpOptions, Provider};
//! use pipeline::{PhaseSettings, Phases, Pipeline, RunOptions, RunOutcome, demo};
//! use scripted_llm::ScriptedServer;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let folder = tempfile::tempdir()?;
//! let server = ScriptedServer::start().await?;
//! let provider = Provider::new(HttpClient::new(HttpOptions::default()));
//! let phases = Phases::standard(demo::models(&provider, &server.base_url())?, PhaseSettings::default())?;
//!
//! let pipeline = Pipeline::new(demo::layout(folder.path())?, phases, RunOptions::default());
//! let report = pipeline.run(&[demo::BENCHMARK.to_owned()]).await?;
//! assert_eq!(report.outcome(), RunOutcome::Complete);
//! assert!(!report.benchmarks[0].summaries.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Benchmarks run one after the other. Targets and rows of one benchmark run side by side.
//! - All scenarios of a benchmark are in memory; conversations and scores are not.
//! - A row that was stopped leaves nothing in the tree. Without a response cache the next run asks for all of it again.
//! - A verdict that could not be used is in the cache like any other reply: the next run gets it again, and abstains again.
//!   Metrics, scenarios and messages of the simulated user are asked for again by each later run.
//! - An import keeps the id of every sample and some numbers for every conversation in memory, not the conversations.
//! - The lock on a tree holds on one machine. Two machines that share a folder over a network can run into each other.
//! - Scenarios that a failed call left out are asked for again by the next run, as long as nobody changes `scenarios.json` in
//!   between.

mod calibrate;
mod check;
pub mod demo;
mod error;
mod export;
mod forecast;
mod import;
mod item_guard;
mod journals;
mod layout;
mod phases;
mod plan;
pub mod progress;
pub mod provenance;
mod rebuild;
mod report;
mod run;
pub mod safety;
mod standard;
pub mod tree;
mod wanted;

pub use calibrate::{CalibrateOptions, Calibration, calibrate};
pub use check::{check_journal, check_tree, journal_benchmark};
pub use error::{PipelineError, PipelineErrorKind};
pub use export::{ExportOptions, ExportReport, export, export_safety};
pub use forecast::{Forecast, forecast};
pub use import::{
    ImportFormat, ImportOptions, ImportRecord, ImportReport, ImportedTarget, LeftOut, import,
    imported_targets, plan_judging, read_metrics,
};
pub use journals::{JournalEnd, RunJournals};
pub use layout::{BenchmarkDir, Layout, TargetDir};
pub use phases::{Loaded, Make, MakeAggregator, MakeSimulator, Phases};
pub use plan::{PlanModel, PlanRow, PlanSettings, Range, plan};
pub use progress::{NoObserver, Observer, Outcome, Phase, Progress};
pub use rebuild::{Rebuilt, rebuild};
pub use report::{BenchmarkReport, Counts, FailureGroup, RunOutcome, RunReport};
pub use run::{Concurrency, Expected, Manifest, Pipeline, RunOptions};
pub use standard::{Models, PROMPT_NAMES, PhaseSettings};
pub use wanted::{WantedMetric, WantedScenarios, wanted_scenarios};
