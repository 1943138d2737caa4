//! One benchmark of a run, phase after phase where they must wait, side by side where they need not.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use journal::RunId;
use llm_client::Tally;
use schema::{
    CostSum, Fingerprint, ModelId, Phase, PhaseCost, TargetRef, event::ExceptionStoppingRun,
};
use serde_json::{Value, json};

use super::{
    Pipeline, feed,
    run_log::{Stopped, Tallies, TestTally, WrittenCosts},
};
use crate::{
    phases::Loaded, progress::Outcome, progress::Progress, report::BenchmarkReport, report::Counts,
    report::Failures, report::KeptRows,
};
use store::{
    BenchmarkDir, LoadedStandards, ReplyTally, RunError, TreeLock,
    provenance::{Provenance, ReplacedFile},
    read_costs, write_cost,
};

/// One benchmark while it runs.
pub(crate) struct BenchmarkRun<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(crate) dir: BenchmarkDir,
    pub(crate) loaded: Loaded,
    /// What grades compare with, where there is something.
    pub(super) standards: Option<LoadedStandards>,
    /// Whether it is the only benchmark of the run.
    pub(super) alone: bool,
    pub(super) failures: Arc<Failures>,
    state: Mutex<State>,
    provenance: Mutex<Provenance>,
    /// When the first phase with items began.
    started: Instant,
    _lock: TreeLock,
}

#[derive(Default)]
struct State {
    report: BenchmarkReport,
    fingerprints: BTreeMap<String, Value>,
    tallies: Tallies,
    replies: BTreeMap<ModelId, ReplyTally>,
    written_costs: WrittenCosts,
}

/// The result of a benchmark, and what ran it.
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
        let provenance = Mutex::new(Provenance::read(&dir));
        Self {
            provenance,
            pipeline,
            dir,
            loaded,
            standards: None,
            alone: true,
            failures: Arc::default(),
            state,
            started: Instant::now(),
            _lock: lock,
        }
    }

    /// The benchmark cannot be run at all.
    pub(super) fn refused(self, error: RunError) -> BenchmarkEnd {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.report.error = Some(error);
        BenchmarkEnd {
            report: state.report,
            fingerprints: state.fingerprints,
            metrics: self.loaded.benchmark.metrics.len(),
        }
    }

    /// Runs the phases and gives the results, errors included. `run_id` is the one of the journal.
    pub(super) async fn run(mut self, run_id: &RunId) -> BenchmarkEnd {
        let cached = self.pipeline.session.cached_replies().await;
        let error = self.phases(run_id).await.err();
        self.end_journal(run_id, error.as_ref(), cached).await;
        let _ = std::fs::remove_dir_all(self.dir.spool());
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let replies = std::mem::take(&mut state.replies).into_iter();
        (state.report.replies, state.report.reasoning) =
            replies.map(|(id, tally)| tally.of(&id)).unzip();
        state.report.reference_turns = self.standards.map(|all| all.turns).unwrap_or_default();
        let metrics = self.loaded.benchmark.metrics.iter();
        state.report.metric_types = metrics
            .map(|metric| (metric.id.clone(), metric.metric_type))
            .collect();
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

    /// Tells the journal the result of the run.
    async fn end_journal(&self, run_id: &RunId, error: Option<&RunError>, cached: u64) {
        let tallies = std::mem::take(&mut self.state().tallies);
        self.log_end(&tallies, self.started.elapsed());
        let stopped = match error {
            Some(error) => Some(Stopped {
                class: ExceptionStoppingRun::ERROR,
                message: error.to_string(),
            }),
            None => self.pipeline.session.stop().is_stopped().then(|| Stopped {
                class: ExceptionStoppingRun::STOP,
                message: "the run was stopped before its end".to_owned(),
            }),
        };
        self.log_finish(run_id, stopped);
        if let Some(cache) = self.pipeline.session.cache() {
            let now = self.pipeline.session.cached_replies().await;
            self.log_cache(cached, now, &cache.name());
        }
    }

    async fn phases(&mut self, run_id: &RunId) -> Result<(), RunError> {
        let pipeline = self.pipeline;
        let force = pipeline.replaces();
        if pipeline.runs(Phase::GenMetrics) {
            let made = self.metrics(force).await;
            // Only now is it known which metrics are measured.
            self.log_start(run_id);
            if !made? {
                return Ok(());
            }
            self.wrote(self.dir.yaml());
        } else {
            self.log_start(run_id);
        }
        pipeline.session.sync_journals().await;
        self.started = Instant::now();
        let simulate = pipeline.runs(Phase::Simulate);
        if simulate {
            self.note_dropped_samples();
        }
        if pipeline.runs(Phase::GenScenarios) || simulate {
            self.generate_and_simulate(force).await?;
        }
        if pipeline.runs(Phase::Evaluate) && !simulate {
            self.judge_all().await?;
        }
        pipeline.session.sync_journals().await;
        if pipeline.runs(Phase::Aggregate) {
            self.summarise(run_id)?;
        } else if pipeline.runs(Phase::Evaluate) {
            self.compare_results();
        }
        Ok(())
    }

    /// Scenarios flow to all targets while they are generated.
    async fn generate_and_simulate(&self, force: bool) -> Result<(), RunError> {
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
    async fn judge_all(&self) -> Result<(), RunError> {
        let mut runs = Vec::new();
        for target in self.pipeline.targets() {
            if self.dir.target(&target.id)?.conversations().exists() {
                runs.push(self.target_run(target, false, true)?);
            } else {
                self.note(&format!(
                    "target {} has no conversations; simulate makes them",
                    target.id
                ));
            }
        }
        self.log_kept_items(&runs).await?;
        let streams = runs.into_iter().map(|run| self.judge_target(run));
        futures::future::join_all(streams)
            .await
            .into_iter()
            .collect()
    }

    /// Writes the entry of a generating phase into `cost.json`.
    ///
    /// A phase that made everything again costs what all its replies cost when they were made. One that only filled gaps
    /// adds what was paid now.
    pub(super) fn write_generation_cost(
        &self,
        phase: Phase,
        before: &Tally,
        some_kept: bool,
    ) -> Result<(), RunError> {
        let now = self.pipeline.spent(phase);
        let mut sum = CostSum::default();
        let mut earlier = None;
        if some_kept {
            if let Some(entry) = read_costs(&self.dir.cost()).get(phase.as_str()) {
                sum.add(&entry.cost);
                earlier = Some(entry.cost);
            }
            // Only what is paid now is added, also where nothing was there.
            earlier.get_or_insert_with(|| CostSum::default().total());
            sum.add(&now.paid.minus(&before.paid).to_phase_cost());
        } else {
            sum.add(&now.spend.minus(&before.spend).to_phase_cost());
        }
        let cost = sum.total();
        write_cost(&self.dir.cost(), phase, cost)?;
        self.cost_written(phase, None, earlier);
        self.state().report.costs.insert((phase, None), cost);
        Ok(())
    }

    pub(super) fn tell(&self, progress: &Progress<'_>) {
        progress.trace();
        self.pipeline.session.observer().on(progress);
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

    /// Takes note of an entry of a cost file that this run wrote, and of what it added to, where it did.
    pub(super) fn cost_written(
        &self,
        phase: Phase,
        target: Option<&ModelId>,
        earlier: Option<PhaseCost>,
    ) {
        let key = (phase, target.cloned());
        self.state().written_costs.insert(key, earlier);
    }

    /// `Some` when this run wrote the entry; the cost that it added to, where it did.
    pub(super) fn written_cost(
        &self,
        phase: &str,
        target: Option<&ModelId>,
    ) -> Option<Option<PhaseCost>> {
        let state = self.state();
        let mut written = state.written_costs.iter();
        let of =
            |key: &(Phase, Option<ModelId>)| key.0.as_str() == phase && key.1.as_ref() == target;
        written
            .find(|(key, _)| of(key))
            .map(|(_, earlier)| *earlier)
    }

    /// The items of a target by how they ended.
    pub(super) fn tested(&self, target: &ModelId, tests: BTreeMap<String, TestTally>) {
        self.state().tallies.insert(target.clone(), tests);
    }

    /// The conversations of a target by what their replies lack. A run that got nowhere says nothing of them.
    pub(super) fn replied(&self, target: &ModelId, tally: ReplyTally) {
        if !tally.is_empty() {
            self.state().replies.insert(target.clone(), tally);
        }
    }

    /// The same as the run has counted it so far.
    pub(super) fn replies_of(&self, target: &ModelId) -> Option<ReplyTally> {
        self.state().replies.get(target).copied()
    }

    /// Whether this run wrote the scores of a target.
    pub(super) fn has_judged(&self, id: &ModelId) -> bool {
        let key = (Phase::Evaluate, Some(id.clone()));
        self.state().written_costs.contains_key(&key)
    }

    /// The rows of `results.json` that sum up no scores of this run.
    pub(super) fn kept_summaries(&self) -> Vec<schema::Summary> {
        let summaries = self.state().report.summaries.clone().into_iter();
        summaries
            .filter(|summary| !self.has_judged(&summary.target_model))
            .collect()
    }

    /// Rows of scores that do not belong to the benchmark or the tree.
    pub(super) fn odd_scores(&self, warnings: Vec<String>) {
        self.state().report.odd_scores.extend(warnings);
    }

    pub(super) fn graded_as(&self, grades: schema::Grades) {
        self.state().report.grades = Some(grades);
    }

    /// The content of `grades.json`, when it was written.
    pub(super) fn grades(&self) -> Option<schema::Grades> {
        self.state().report.grades.clone()
    }

    /// Whether rows failed, and whether rows were left out because the run was stopped or its budget was spent.
    pub(super) fn rows_missing(&self) -> (bool, bool) {
        let state = self.state();
        let counts = || state.report.counts.values();
        (
            counts().any(|counts| counts.failed > 0),
            counts().any(|counts| counts.skipped > 0),
        )
    }

    pub(super) fn summaries(&self, summaries: Vec<schema::Summary>) {
        self.state().report.summaries = summaries;
    }

    pub(super) fn rates(&self, summaries: Vec<schema::Summary>) {
        self.state().report.rates = summaries;
    }

    /// Rows of an earlier run stay.
    pub(super) fn kept(&self, rows: KeptRows) {
        self.state().report.kept.push(rows);
    }

    /// Metrics that are not measured, because their scenarios are not there and are not generated.
    pub(super) fn without_scenarios(&self, metrics: Vec<String>) {
        self.state().report.without_scenarios = metrics;
    }

    /// A copy was kept of a file that this run replaced.
    pub(super) fn replaced(&self, file: Option<ReplacedFile>) {
        self.state().report.replaced.extend(file);
    }

    /// What the record of the benchmark's files says.
    pub(super) fn provenance(&self) -> Provenance {
        let provenance = self.provenance.lock();
        provenance.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the record of the benchmark's files, and writes it.
    pub(super) fn record_provenance(
        &self,
        change: impl FnOnce(&mut Provenance),
    ) -> Result<(), RunError> {
        let provenance = self.provenance.lock();
        let mut provenance = provenance.unwrap_or_else(PoisonError::into_inner);
        change(&mut provenance);
        provenance.write(&self.dir)
    }

    pub(super) fn results_outdated(&self) {
        self.state().report.results_outdated = true;
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
