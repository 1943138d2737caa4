//! One benchmark of a run, phase after phase where they must wait, side by side where they need not.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use llm_client::Tally;
use schema::{CostSum, Fingerprint, ModelId, PhaseCost, TargetRef};
use serde_json::{Value, json};

use super::{Pipeline, feed};
use crate::{
    error::PipelineError,
    layout::BenchmarkDir,
    phases::Loaded,
    progress::{Outcome, Phase, Progress},
    report::{BenchmarkReport, Counts, Failures},
    tree::{TreeLock, read_costs, write_cost},
};

/// One benchmark while it runs.
pub(crate) struct BenchmarkRun<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(crate) dir: BenchmarkDir,
    pub(crate) loaded: Loaded,
    pub(super) failures: Arc<Failures>,
    state: Mutex<State>,
    _lock: TreeLock,
}

#[derive(Default)]
struct State {
    report: BenchmarkReport,
    fingerprints: BTreeMap<String, Value>,
}

/// What came of a benchmark, and what ran it.
pub(super) struct BenchmarkEnd {
    pub(super) report: BenchmarkReport,
    pub(super) fingerprints: BTreeMap<String, Value>,
    pub(super) metrics: usize,
}

impl<'p> BenchmarkRun<'p> {
    pub(super) fn new(
        pipeline: &'p Pipeline,
        dir: BenchmarkDir,
        loaded: Loaded,
        lock: TreeLock,
    ) -> Self {
        let report = BenchmarkReport {
            name: dir.name().to_owned(),
            ..BenchmarkReport::default()
        };
        let state = Mutex::new(State {
            report,
            ..State::default()
        });
        Self {
            pipeline,
            dir,
            loaded,
            failures: Arc::default(),
            state,
            _lock: lock,
        }
    }

    /// Runs the phases and gives what came of them, errors included.
    pub(super) async fn run(mut self) -> BenchmarkEnd {
        let error = self.phases().await.err();
        let _ = std::fs::remove_dir_all(self.dir.spool());
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.report.error = error;
        state.report.failures = Arc::try_unwrap(self.failures)
            .map(Failures::into_groups)
            .unwrap_or_default();
        BenchmarkEnd {
            report: state.report,
            fingerprints: state.fingerprints,
            metrics: self.loaded.benchmark.metrics.len(),
        }
    }

    async fn phases(&mut self) -> Result<(), PipelineError> {
        let pipeline = self.pipeline;
        let force = pipeline.replaces();
        if pipeline.runs(Phase::GenMetrics) {
            let have_metrics = self.metrics(force).await?;
            self.wrote(self.dir.yaml());
            if !have_metrics {
                return Ok(());
            }
        }
        let simulate = pipeline.runs(Phase::Simulate);
        if pipeline.runs(Phase::GenScenarios) || simulate {
            self.generate_and_simulate(force).await?;
        }
        if pipeline.runs(Phase::Evaluate) && !simulate {
            self.judge_all().await?;
        }
        if pipeline.runs(Phase::Aggregate) {
            self.summarise()?;
        }
        Ok(())
    }

    /// Scenarios flow to all targets while they are generated.
    async fn generate_and_simulate(&self, force: bool) -> Result<(), PipelineError> {
        let generate = self.pipeline.runs(Phase::GenScenarios);
        let (writer, feed) = feed::feed();
        let evaluate = self.pipeline.runs(Phase::Evaluate);
        let targets: Vec<&TargetRef> = if self.pipeline.runs(Phase::Simulate) {
            self.pipeline.targets().collect()
        } else {
            Vec::new()
        };
        let mut streams = Vec::new();
        for target in targets {
            let run = self.target_run(target, true, evaluate)?;
            streams.push(self.stream_target(run, feed.clone()));
        }
        drop(feed);
        let (generated, streamed) = futures::join!(
            self.scenarios(writer, generate, force),
            futures::future::join_all(streams)
        );
        self.wrote(self.dir.scenarios());
        generated?;
        streamed.into_iter().collect()
    }

    /// Judges what is on disk. A target without conversations is passed over.
    async fn judge_all(&self) -> Result<(), PipelineError> {
        let mut streams = Vec::new();
        for target in self.pipeline.targets() {
            if self.dir.target(&target.id)?.conversations().exists() {
                streams.push(self.judge_target(self.target_run(target, false, true)?));
            } else {
                self.note(&format!(
                    "target {} has no conversations; simulate makes them",
                    target.id
                ));
            }
        }
        futures::future::join_all(streams)
            .await
            .into_iter()
            .collect()
    }

    /// Writes the entry of a generating phase into `cost.json`.
    ///
    /// A phase that made everything anew costs what all its replies cost when they were paid for. One that only filled gaps
    /// adds what was paid now.
    pub(super) fn write_generation_cost(
        &self,
        phase: Phase,
        before: &Tally,
        some_kept: bool,
    ) -> Result<(), PipelineError> {
        let now = self.pipeline.spent(phase);
        let mut sum = CostSum::default();
        if some_kept {
            if let Some(entry) = read_costs(&self.dir.cost()).get(phase.as_str()) {
                sum.add(&entry.cost);
            }
            sum.add(&now.paid.minus(&before.paid).to_phase_cost());
        } else {
            sum.add(&now.spend.minus(&before.spend).to_phase_cost());
        }
        let cost = sum.total();
        write_cost(&self.dir.cost(), phase, cost)?;
        self.state().report.costs.insert((phase, None), cost);
        Ok(())
    }

    pub(super) fn tell(&self, progress: &Progress<'_>) {
        self.pipeline.observer.on(progress);
    }

    pub(super) fn note(&self, text: &str) {
        self.tell(&Progress::Note {
            benchmark: self.dir.name(),
            text,
        });
    }

    /// A row of a generating phase ended.
    pub(super) fn row(&self, phase: Phase, outcome: Outcome) {
        self.state()
            .report
            .counts
            .entry((phase, None))
            .or_default()
            .add(outcome);
        self.tell(&Progress::Row {
            phase,
            benchmark: self.dir.name(),
            target: None,
            outcome,
        });
    }

    pub(super) fn finished(&self, phase: Phase) {
        self.tell(&Progress::Finished {
            phase,
            benchmark: self.dir.name(),
            target: None,
        });
    }

    pub(super) fn count(
        &self,
        phase: Phase,
        target: Option<&ModelId>,
        counts: Counts,
        cost: PhaseCost,
    ) {
        let mut state = self.state();
        state.report.counts.insert((phase, target.cloned()), counts);
        state.report.costs.insert((phase, target.cloned()), cost);
    }

    pub(super) fn summaries(&self, summaries: Vec<schema::Summary>) {
        self.state().report.summaries = summaries;
    }

    /// A file that the user may want to look at.
    pub(super) fn wrote(&self, path: PathBuf) {
        if path.exists() {
            self.state().report.files.push(path);
        }
    }

    pub(super) fn fingerprint(&self, phase: &str, fingerprint: &Fingerprint) {
        self.state()
            .fingerprints
            .insert(phase.to_owned(), json!(fingerprint));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
