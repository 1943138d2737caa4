//! Runs the phases of benchmarks.

mod dropped;
mod expected;
mod feed;
mod generate;
mod keep;
mod manifest;
mod one_benchmark;
mod preflight;
mod rows;
mod run_log;
mod score_log;
mod stream;
mod summarise;
mod target;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use schema::{Extra, ModelId, Phase};
use serde_json::Value;

pub use expected::Expected;
use one_benchmark::BenchmarkEnd;
pub(crate) use one_benchmark::BenchmarkRun;

use crate::{journals::JournalEnd, phases::Phases, report::RunReport, session::Session};
use journal::RunId;
use llm_client::Tally;
use store::{Layout, Manifest, RunError, RunErrorKind, write_json};

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
    /// Write metrics or scenarios again even when they are there. It holds where a generating phase runs alone; a run of
    /// several phases keeps what belongs to the user.
    pub force: bool,
    /// Add generated rows for metrics that have none to a `scenarios.json` that was not generated here.
    pub add_scenarios: bool,
    /// Only these targets; empty: all.
    pub targets: Vec<ModelId>,
    /// How often each scenario is simulated with each target.
    pub samples: u32,
    /// How much runs at once.
    pub concurrency: Concurrency,
    /// What grades compare with: a standards file for all benchmarks, or a folder that holds `<uid>.json` for each. `None`, and
    /// where the folder has no such file: the benchmark's own `standards.json`, if it is there.
    pub standards: Option<PathBuf>,
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
            add_scenarios: false,
            targets: Vec::new(),
            samples: 1,
            concurrency: Concurrency::default(),
            standards: None,
            expected: Expected::default(),
            config: Value::Null,
            git: Value::Null,
        }
    }
}

/// Phases and files put together, ready to run benchmarks in a session.
///
/// `docs/architecture.md` describes how rows flow through it.
pub struct Pipeline {
    session: Arc<Session>,
    layout: Layout,
    phases: Phases,
    options: RunOptions,
    sut_options: BTreeMap<ModelId, Extra>,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("session", &self.session)
            .field("layout", &self.layout)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Pipeline {
    /// A pipeline of `phases`, whose models `session` made, over the files of `layout`.
    #[must_use]
    pub fn new(session: Arc<Session>, layout: Layout, phases: Phases, options: RunOptions) -> Self {
        Self {
            session,
            layout,
            phases,
            options,
            sut_options: BTreeMap::new(),
        }
    }

    /// What the requests to each target ask for besides their messages, `max_tokens` for one: the journal has it under
    /// `sut_options`.
    #[must_use]
    pub fn sut_options(mut self, options: BTreeMap<ModelId, Extra>) -> Self {
        self.sut_options = options;
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
    pub async fn run(&self, benchmarks: &[String]) -> Result<RunReport, RunError> {
        let mut runs = self.preflight(benchmarks)?;
        let benchmarks: Vec<String> = runs.iter().map(|run| run.dir.name().to_owned()).collect();
        let mut manifest = manifest::start(self, &benchmarks);
        let manifest_path = self
            .layout
            .run(&self.session.run_id().to_string())
            .join(Manifest::FILE);
        write_json(&manifest_path, &manifest)?;
        let mut reports = Vec::new();
        for run in runs.drain(..) {
            let name = run.dir.name().to_owned();
            let report = self.run_journaled(run, reports.is_empty()).await;
            manifest::add(&mut manifest, &name, &report);
            reports.push(report.report);
        }
        // A disk that is full stops the run too, and is no interruption by the user.
        let broken = reports
            .iter()
            .filter_map(|report| report.error.as_ref())
            .any(|error| error.kind() == RunErrorKind::Output);
        let report = RunReport {
            run_id: self.session.run_id().to_string(),
            benchmarks: reports,
            interrupted: self.session.stop().is_stopped() && !broken,
        };
        manifest::finish(&mut manifest, self, &report);
        write_json(&manifest_path, &manifest)?;
        Ok(report)
    }

    /// Runs one benchmark with a journal of its own, where the pipeline has journal files.
    async fn run_journaled(&self, run: BenchmarkRun<'_>, first: bool) -> BenchmarkEnd {
        // Each journal has an id of its own; the first has the run's.
        let id = if first {
            self.session.run_id().clone()
        } else {
            RunId::now()
        };
        let Some(journals) = self.session.journals() else {
            return run.run(&id).await;
        };
        let dir = run.dir.clone();
        if let Err(error) = journals.open(&id, None) {
            return run.refused(error);
        }
        let mut end = run.run(&id).await;
        if let Some(closed) = journals.close().await.pop() {
            end.report.journal = Some(JournalEnd::of(closed, Some(dir)).await);
        }
        end
    }

    /// Whether metrics or existing scenarios are replaced.
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

    fn runs(&self, phase: Phase) -> bool {
        self.options.phases.contains(&phase)
    }

    /// What the calls of a phase that has no rows of its own used and cost: all of them, and those made in this run.
    fn spent(&self, phase: Phase) -> Tally {
        let mut total = Tally::default();
        for (key, tally) in self.session.meter().tallies() {
            if key.phase == phase.as_str() {
                total.add(&tally);
            }
        }
        total
    }
}
