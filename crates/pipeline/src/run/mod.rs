//! Runs the phases of benchmarks.

mod benchmark;
mod expected;
mod feed;
mod generate;
mod manifest;
mod preflight;
mod stream;
mod summarise;
mod target;

use std::{collections::BTreeSet, sync::Arc};

use schema::ModelId;
use serde_json::Value;

pub(crate) use benchmark::BenchmarkRun;
pub use expected::Expected;
pub use manifest::Manifest;

use crate::{
    error::{PipelineError, PipelineErrorKind},
    layout::Layout,
    phases::Phases,
    progress::{NoObserver, Observer, Phase},
    report::RunReport,
};
use journal::RunId;
use llm_client::{Meter, Stop, Tally};
use schema::{Event, Journal, NoJournal};

/// How much runs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Conversations in flight for each target.
    pub simulate: usize,
    /// Conversations in judgement for each target.
    pub evaluate: usize,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            simulate: 10,
            evaluate: 10,
        }
    }
}

/// What a run does.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Which phases run.
    pub phases: BTreeSet<Phase>,
    /// Write metrics or scenarios anew even when they are there. It holds where a generating phase runs alone; a run of
    /// several phases keeps what belongs to the user.
    pub force: bool,
    /// Only these targets; empty: all.
    pub targets: Vec<ModelId>,
    /// How often each scenario is played against each target.
    pub samples: u32,
    /// How much runs at once.
    pub concurrency: Concurrency,
    /// The settings that scenarios are compared with.
    pub expected: Expected,
    /// The resolved configuration without secrets, for the manifest.
    pub config: Value,
    /// The git revision of the folder the run was started in, for the manifest: `{revision, dirty}` or null.
    pub git: Value,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            phases: Phase::ALL.into(),
            force: false,
            targets: Vec::new(),
            samples: 1,
            concurrency: Concurrency::default(),
            expected: Expected::default(),
            config: Value::Null,
            git: Value::Null,
        }
    }
}

/// Phases, files and policy put together, ready to run benchmarks.
///
/// `docs/architecture.md` tells how rows flow through it.
pub struct Pipeline {
    layout: Layout,
    phases: Phases,
    options: RunOptions,
    observer: Arc<dyn Observer>,
    journal: Arc<dyn Journal>,
    stop: Stop,
    meter: Meter,
    run_id: RunId,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("layout", &self.layout)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Pipeline {
    /// A pipeline of `phases` over the files of `layout`.
    #[must_use]
    pub fn new(layout: Layout, phases: Phases, options: RunOptions) -> Self {
        Self {
            layout,
            phases,
            options,
            observer: Arc::new(NoObserver),
            journal: Arc::new(NoJournal),
            stop: Stop::default(),
            meter: Meter::default(),
            run_id: RunId::now(),
        }
    }

    /// Who watches the run.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Where events go.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// The signal that ends the run in order. It is the one that the models of the phases listen to.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// The meter that the models of the phases feed. Without it the generating phases have no costs.
    #[must_use]
    pub fn meter(mut self, meter: Meter) -> Self {
        self.meter = meter;
        self
    }

    /// The id of the run, which names the folder of its records.
    #[must_use]
    pub fn run_id(mut self, run_id: RunId) -> Self {
        self.run_id = run_id;
        self
    }

    /// Runs the phases on these benchmarks, one benchmark after the other.
    ///
    /// A row that fails costs only itself, a benchmark that cannot be run only itself: both are in the report. What was
    /// finished is on disk when this returns.
    ///
    /// # Errors
    /// Before the first call: when a benchmark, a file, a prompt or a target cannot be used, a folder cannot be written, or
    /// another run is at work on one of the benchmarks.
    pub async fn run(&self, benchmarks: &[String]) -> Result<RunReport, PipelineError> {
        let mut runs = self.preflight(benchmarks)?;
        let benchmarks: Vec<String> = runs.iter().map(|run| run.dir.name().to_owned()).collect();
        let mut manifest = Manifest::start(self, &benchmarks);
        let manifest_path = self
            .layout
            .run(&self.run_id.to_string())
            .join("manifest.json");
        manifest.write(&manifest_path)?;
        self.journal.record(
            Event::new("starting run", "Pipeline", "run")
                .with("run_id", self.run_id.to_string())
                .with("benchmarks", Value::from(benchmarks))
                .with("tests", Value::from(tests(&runs)))
                .with("suts", Value::from(self.sut_ids()))
                .with("max_items", Value::Null)
                .with("thread_count", self.options.concurrency.simulate as u64),
        );
        self.journal
            .record(Event::new("running pipeline", "Pipeline", "run"));
        let mut reports = Vec::new();
        for run in runs.drain(..) {
            let name = run.dir.name().to_owned();
            let report = run.run().await;
            manifest.add(&name, &report);
            reports.push(report.report);
        }
        // A disk that is full stops the run too, and is no interruption by the user.
        let broken = reports
            .iter()
            .filter_map(|report| report.error.as_ref())
            .any(|error| error.kind() == PipelineErrorKind::Output);
        let report = RunReport {
            run_id: self.run_id.to_string(),
            benchmarks: reports,
            interrupted: self.stop.is_stopped() && !broken,
        };
        manifest.finish(self, &report);
        manifest.write(&manifest_path)?;
        self.journal.record(
            Event::new("finished run", "Pipeline", "run").with("run_id", self.run_id.to_string()),
        );
        Ok(report)
    }

    /// Whether metrics or scenarios that are there are replaced.
    fn replaces(&self) -> bool {
        self.options.force && self.options.phases.len() == 1
    }

    /// The targets that run.
    fn targets(&self) -> impl Iterator<Item = &schema::TargetRef> {
        let only = &self.options.targets;
        self.phases
            .targets
            .iter()
            .filter(move |target| only.is_empty() || only.contains(&target.id))
    }

    fn sut_ids(&self) -> Vec<String> {
        self.targets().map(|target| target.id.to_string()).collect()
    }

    fn runs(&self, phase: Phase) -> bool {
        self.options.phases.contains(&phase)
    }

    /// What the calls of a phase that has no rows of its own used and cost: all of them, and those paid for in this run.
    fn spent(&self, phase: Phase) -> Tally {
        let mut total = Tally::default();
        for (key, tally) in self.meter.tallies() {
            if key.phase == phase.as_str() {
                total.add(&tally);
            }
        }
        total
    }
}

fn tests(runs: &[BenchmarkRun<'_>]) -> Vec<String> {
    let metrics = runs.iter().flat_map(|run| &run.loaded.benchmark.metrics);
    metrics.map(|metric| metric.id.clone()).collect()
}
