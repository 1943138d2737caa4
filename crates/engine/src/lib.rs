//! Runs the phases as one bounded, resumable, cancellable stream.
//!
//! - [`Pipeline`] runs [`Phases`] over the files of a benchmark. Rows flow: a conversation is judged when it ends, all targets run
//!   side by side, and memory holds only what is in flight. [`plan()`] estimates beforehand the calls that a run would make.
//! - [`safety`] runs safety evaluations.
//!
//! Both are plain recipes over the same parts: items that end exactly once, permits, journals, reports.
//!
//! This crate knows the traits of the phases and none of their implementations, so a phase can be replaced without linking the one it
//! replaces. `probity` puts the shipped ones together; its example `compose` shows a whole run.
//!
//! # Limits
//! - Benchmarks run one after the other. Targets and rows of one benchmark run side by side.
//! - All scenarios of a benchmark are in memory; conversations and scores are not.
//! - A row that was stopped leaves nothing in the tree. Without a response cache the next run requests all of its replies again.
//! - A verdict that could not be used is in the cache like any other reply: the next run gets it again, and abstains again. Metrics,
//!   scenarios and messages of the simulated user are requested again by each later run.
//! - Scenarios that a failed call left out are requested again by the next run, as long as nobody changes `scenarios.json` in
//!   between.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod benchmark;
mod feed;
mod forecast;
mod item_guard;
mod journals;
mod judge_watch;
mod needed_scenarios;
mod phases;
mod plan;
pub mod progress;
mod reply_ages;
mod report;
mod run_log;
mod run_record;
pub mod safety;
mod session;
mod tally;
mod target_state;
pub mod unit;

pub use benchmark::{Concurrency, Pipeline, PromptChoice, RunOptions, StopWhenDecided};
pub use forecast::{Forecast, forecast};
pub use journals::{JournalEnd, JournalSet};
pub use needed_scenarios::{Expected, NeededMetric, NeededScenarios, needed_scenarios};
pub use phases::{AggregatorFactory, BenchmarkContext, PhaseFactory, Phases, SimulatorFactory};
pub use plan::{CalledModel, PlanModel, PlanRow, PlanSettings, Range, plan, plan_judging};
pub use progress::{NoObserver, Observer, Outcome, Progress};
pub use report::{
    BenchmarkReport, Counts, FailureGroup, JudgeGivenUp, KeptReason, KeptRows, RunOutcome,
    RunReport,
};
pub use session::Session;
pub use unit::Runner;
