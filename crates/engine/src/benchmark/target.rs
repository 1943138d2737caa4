//! One target of one benchmark: runs its rows, as many at the same time as the run allows, and sums them up.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use schema::{
    Conversation, CostSum, Evaluator, Item, Metric, ModelId, Phase, PhaseCost, PhaseError,
    PhaseErrorKind, Scenario, Simulator, TargetRef, setting_keys,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};

use super::{
    feed::{KeptFeed, KeptRow, RowEnd, Sample},
    results::Results,
    row,
    run::BenchmarkRun,
};
use crate::{
    feed::{Feed, FeedRunner, run_feed},
    phases::BenchmarkContext,
    progress::Outcome,
    report::Counts,
    target_state::TargetState,
    unit::{Runner, Unit, UnitState},
};
use store::{ReplyTally, RowPosition, RunError, Spool, Verdicts, count_conversations};

/// The state that all rows of one target share.
pub(super) struct TargetRun {
    pub(super) state: TargetState,
    pub(super) metrics: Vec<Metric>,
    /// What runs the rows, where they run elsewhere, and the benchmark for it.
    elsewhere: Option<(Arc<dyn Runner>, Arc<BenchmarkContext>)>,
    /// Absent when existing conversations are only judged.
    pub(super) simulator: Option<Arc<dyn Simulator>>,
    /// Absent when conversations are only simulated.
    pub(super) evaluator: Option<Arc<dyn Evaluator>>,
    /// Verdicts of another program. They stay.
    pub(super) verdicts: Verdicts,
    pub(super) conversations: Option<Spool>,
    pub(super) scores: Option<Spool>,
    totals: Mutex<Totals>,
    /// Why rows can no longer be written.
    broken: OnceLock<RunError>,
}

/// The totals over the rows of one target.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) simulate: Counts,
    pub(super) evaluate: Counts,
    pub(super) simulate_cost: CostSum,
    pub(super) evaluate_cost: CostSum,
    /// Conversations that ended, by what is missing in their replies.
    pub(super) replies: ReplyTally,
    /// Score rows of another program. They stay.
    pub(super) kept_verdicts: u64,
}

/// Runs `work` in its own task. Its wake-ups then go to a worker of the runtime, which may already be awake, and never to the
/// thread that waits for the whole run. The task is aborted when the future that waits for it is dropped.
pub(super) async fn spawn_scoped(work: impl Future<Output = ()> + Send + 'static) {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    if let Some(Err(error)) = tasks.join_next().await
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

impl TargetRun {
    /// The state that the rows of `target` share. `simulate` and `evaluate` say which phases run.
    pub(super) fn new(
        run: &BenchmarkRun<'_>,
        target: &TargetRef,
        simulate: bool,
        evaluate: bool,
    ) -> Result<Arc<Self>, RunError> {
        let pipeline = run.pipeline;
        let (phases, session) = (&pipeline.phases, &pipeline.session);
        let spool = |phase_runs: bool, name: &str| {
            let path = run.dir.spool().join(format!("{}.{name}", target.id));
            phase_runs.then(|| Spool::create(&path)).transpose()
        };
        let simulator = simulate
            .then(|| (phases.simulator)(&run.loaded, target))
            .transpose()?;
        let evaluator = evaluate
            .then(|| (phases.evaluator)(&run.loaded))
            .transpose()?;
        let metrics = run.loaded.benchmark.metrics.clone();
        let runner = session.runner().filter(|_| simulate).cloned();
        // Conversations simulated in this run have no verdict yet.
        let verdicts = match evaluate && !simulate && !pipeline.options.force {
            true => Verdicts::read(&run.dir.target(&target.id)?, &target.id, &metrics),
            false => Verdicts::default(),
        };
        Ok(Arc::new(Self {
            state: TargetState::new(
                session,
                run.dir.name(),
                target,
                pipeline.options.concurrency.evaluate,
                &run.failures,
                &pipeline.judge_watch,
            ),
            metrics,
            elsewhere: runner.map(|runner| (runner, Arc::new(run.loaded.clone()))),
            simulator,
            evaluator,
            verdicts,
            conversations: spool(simulate, "conversations")?,
            scores: spool(evaluate, "scores")?,
            totals: Mutex::default(),
            broken: OnceLock::new(),
        }))
    }

    /// The item of a sample. It may run elsewhere.
    pub(super) fn item(&self, scenario: &Arc<Scenario>, sample: u32) -> Item {
        let journal = Arc::clone(&self.state.journal);
        let item = Item::new(scenario, self.id(), sample, journal);
        let Some((runner, benchmark)) = &self.elsewhere else {
            return item;
        };
        let unit = Unit {
            benchmark: Arc::clone(benchmark),
            target: self.state.target.clone(),
            scenario: Arc::clone(scenario),
            sample,
            is_judged: self.evaluator.is_some(),
        };
        item.attach(Arc::new(UnitState::new(unit, Arc::clone(runner))))
    }

    /// The results before the first row: the fingerprints of the phases that simulate and judge.
    pub(super) fn results(&self) -> Results {
        let mut results = Results::default();
        if let Some(simulator) = &self.simulator {
            let phase = setting_keys::simulator(self.id().as_str());
            results.fingerprint(&phase, &simulator.fingerprint());
        }
        if let Some(evaluator) = &self.evaluator {
            results.fingerprint(setting_keys::EVALUATOR, &evaluator.fingerprint());
        }
        results
    }

    /// The most turns of the conversation of a scenario, as far as the simulator knows; else 0.
    pub(super) fn most_turns(&self) -> impl Fn(&Scenario) -> u32 + Send + 'static {
        let simulator = self.simulator.clone();
        move |scenario| {
            let turns = simulator.as_ref().map(|one| one.most_turns(scenario));
            turns.flatten().unwrap_or(0)
        }
    }

    /// Simulates the samples of `feed`, `at_once` conversations side by side, and judges each when it ends.
    pub(super) async fn simulate_rows<F>(self: Arc<Self>, mut feed: F, at_once: usize)
    where
        F: Feed<Unit = Sample, End = RowEnd>,
    {
        run_feed(
            &mut feed,
            &self,
            &Arc::new(Semaphore::new(at_once)),
            &self.state.stop,
        )
        .await;
    }

    /// Judges conversations of the tree, in their order there. Those of a metric that benchmark.yaml no longer has are left out.
    pub(super) async fn judge_rows(self: Arc<Self>, conversations: mpsc::Receiver<Conversation>) {
        let run = Arc::clone(&self);
        let mut feed = KeptFeed {
            conversations,
            read: 0,
            is_judged: move |metric: &str| run.metric(metric).is_some(),
        };
        run_feed(&mut feed, &self, &self.state.judging, &self.state.stop).await;
    }

    /// Reports how many conversations of the tree will be judged, where they can be counted.
    pub(super) fn count_rows(&self, conversations: &Path) {
        let is_judged = |id: &str| self.metric(id).is_some();
        if let Some(rows) = count_conversations(conversations, is_judged) {
            self.report_rows(rows);
        }
    }

    /// Counts a row whose task panicked.
    fn panicked(&self, phase: Phase, message: &str) {
        self.state.failed(phase, "", message);
        self.ended(phase, Outcome::Failed);
    }

    /// Whether the row was not finished because the run is stopping or its budget is spent. Such a row is not written: the next
    /// run finishes it.
    pub(super) fn skipped(
        &self,
        phase: Phase,
        error: &PhaseError,
        row: impl FnOnce() -> String,
    ) -> bool {
        match error.kind() {
            PhaseErrorKind::Cancelled => {}
            PhaseErrorKind::OverBudget => self.state.over_budget(phase, &row(), error),
            _ => return false,
        }
        self.ended(phase, Outcome::Skipped);
        true
    }

    /// Writes a row. A full disk stops the run, because no later reply could be stored.
    pub(super) fn write<T: serde::Serialize>(
        &self,
        spool: Option<&Spool>,
        position: RowPosition,
        row: &T,
    ) -> Option<()> {
        let error = spool?.push(position, row).err();
        if let Some(error) = error {
            let _ = self.broken.set(error);
            self.state.stop.stop();
            return None;
        }
        Some(())
    }

    /// Takes the reason why rows could not be written, if any. It is returned once.
    pub(super) fn take_broken(&mut self) -> Option<RunError> {
        self.broken.take()
    }

    /// Counts a conversation that ended a phase, and reports it.
    pub(super) fn ended(&self, phase: Phase, outcome: Outcome) {
        {
            let mut totals = self.totals();
            match phase {
                Phase::Evaluate => totals.evaluate.add(outcome),
                _ => totals.simulate.add(outcome),
            }
        }
        self.state.report_ended(phase, outcome);
    }

    /// Counts the scores of a conversation, and reports it as one row, as [`Progress::Rows`] announced it.
    pub(super) fn ended_with_scores(&self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            self.totals().evaluate.add(*outcome);
        }
        let of_row = [Outcome::Failed, Outcome::Abstained]
            .into_iter()
            .find(|outcome| outcomes.contains(outcome));
        self.state
            .report_ended(Phase::Evaluate, of_row.unwrap_or(Outcome::Done));
    }

    fn report_rows(&self, rows: u64) {
        for (phase, runs) in [
            (Phase::Simulate, self.simulator.is_some()),
            (Phase::Evaluate, self.evaluator.is_some()),
        ] {
            if runs {
                self.state.report_rows(phase, rows);
            }
        }
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> &ModelId {
        self.state.id()
    }

    pub(super) fn metric(&self, id: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.id == id)
    }

    pub(super) fn cost(&self, phase: Phase) -> PhaseCost {
        let totals = self.totals();
        match phase {
            Phase::Evaluate => totals.evaluate_cost.total(),
            _ => totals.simulate_cost.total(),
        }
    }
}

impl FeedRunner<Sample, RowEnd> for TargetRun {
    async fn run(self: Arc<Self>, unit: Arc<Sample>, permit: OwnedSemaphorePermit) -> RowEnd {
        row::simulate_and_judge(&self, &unit.row, unit.sample, permit).await
    }

    fn not_begun(&self, _unit: &Sample) -> RowEnd {
        self.ended(Phase::Simulate, Outcome::Skipped);
        RowEnd::Left
    }

    fn panicked(&self, _unit: &Sample, message: String) -> RowEnd {
        self.panicked(Phase::Simulate, &message);
        RowEnd::Left
    }

    fn report_rows(&self, rows: u64) {
        self.report_rows(rows);
    }
}

impl FeedRunner<KeptRow, ()> for TargetRun {
    async fn run(self: Arc<Self>, unit: Arc<KeptRow>, permit: OwnedSemaphorePermit) {
        row::judge_kept(&self, &unit.conversation, unit.position, permit).await;
    }

    fn not_begun(&self, _unit: &KeptRow) {
        self.ended(Phase::Evaluate, Outcome::Skipped);
    }

    fn panicked(&self, _unit: &KeptRow, message: String) {
        self.panicked(Phase::Evaluate, &message);
    }

    fn report_rows(&self, rows: u64) {
        self.report_rows(rows);
    }
}
