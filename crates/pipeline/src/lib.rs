//! Runs the phases as one bounded, resumable, cancellable stream, and writes the benchmark tree.

pub mod demo;
mod error;
mod layout;
mod phases;
mod plan;
pub mod progress;
mod report;
mod run;
mod standard;
pub mod tree;

pub use error::{PipelineError, PipelineErrorKind};
pub use layout::{BenchmarkDir, Layout, TargetDir};
pub use phases::{Loaded, Make, MakeAggregator, MakeSimulator, Phases};
pub use plan::{PlanModel, PlanRow, PlanSettings, Range, plan};
pub use progress::{NoObserver, Observer, Outcome, Phase, Progress};
pub use report::{BenchmarkReport, Counts, FailureGroup, RunOutcome, RunReport};
pub use run::{Concurrency, Expected, Manifest, Pipeline, RunOptions};
pub use standard::{Models, PROMPT_NAMES, PhaseSettings};
