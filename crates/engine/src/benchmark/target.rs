//! One target of one benchmark: runs its rows, as many at the same time as the run allows, and sums them up.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use schema::{
    Conversation, CostSum, Evaluator, Event, EventBody, Item, Journal, Metric, ModelId, Phase,
    PhaseCost, PhaseError, PhaseErrorKind, ReplySpan, Score, Simulator, TargetRef,
    event::BudgetReached,
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
};

use super::{
    feed::Feed,
    results::{Results, TestTally},
    row,
    run::BenchmarkRun,
};
use crate::{
    judge_watch::{JudgeWatch, JudgedRow},
    progress::{Observer, Outcome, Progress},
    report::{Counts, Failures},
};
use store::{ReplyTally, RowPosition, RunError, Spool, Verdicts, count_conversations};

/// The state that all rows of one target share.
pub(super) struct TargetRun {
    pub(super) benchmark: String,
    pub(super) target: TargetRef,
    pub(super) metrics: Vec<Metric>,
    /// Absent when existing conversations are only judged.
    pub(super) simulator: Option<Arc<dyn Simulator>>,
    /// Absent when conversations are only simulated.
    pub(super) evaluator: Option<Arc<dyn Evaluator>>,
    /// Verdicts of another program. They stay.
    pub(super) verdicts: Verdicts,
    pub(super) conversations: Option<Spool>,
    pub(super) scores: Option<Spool>,
    pub(super) judging: Arc<Semaphore>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) failures: Arc<Failures>,
    pub(super) journal: Arc<dyn Journal>,
    stop: llm_client::Stop,
    judge_watch: Arc<JudgeWatch>,
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
    /// Items by how they ended, for each metric.
    pub(super) tests: BTreeMap<String, TestTally>,
    /// Conversations that ended, by what is missing in their replies.
    pub(super) replies: ReplyTally,
    /// When the replies of the target came, in the conversations that did not fail.
    pub(super) came: Option<ReplySpan>,
    /// Score rows of another program. They stay.
    pub(super) kept_verdicts: u64,
    /// Whether a call was refused because it would have passed the budget.
    over_budget: bool,
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
        // Conversations simulated in this run have no verdict yet.
        let verdicts = match evaluate && !simulate && !pipeline.options.force {
            true => Verdicts::read(&run.dir.target(&target.id)?, &target.id, &metrics),
            false => Verdicts::default(),
        };
        Ok(Arc::new(Self {
            benchmark: run.dir.name().to_owned(),
            target: target.clone(),
            metrics,
            simulator,
            evaluator,
            verdicts,
            conversations: spool(simulate, "conversations")?,
            scores: spool(evaluate, "scores")?,
            judging: Arc::new(Semaphore::new(pipeline.options.concurrency.evaluate)),
            observer: Arc::clone(session.observer()),
            failures: Arc::clone(&run.failures),
            journal: Arc::clone(session.journal()),
            stop: session.stop().clone(),
            judge_watch: Arc::clone(&pipeline.judge_watch),
            totals: Mutex::default(),
            broken: OnceLock::new(),
        }))
    }

    /// The results before the first row: the fingerprints of the phases that simulate and judge.
    pub(super) fn results(&self) -> Results {
        let mut results = Results::default();
        if let Some(simulator) = &self.simulator {
            let phase = format!("simulator:{}", self.target.id);
            results.fingerprint(&phase, &simulator.fingerprint());
        }
        if let Some(evaluator) = &self.evaluator {
            results.fingerprint("evaluator", &evaluator.fingerprint());
        }
        results
    }

    /// Simulates every scenario of the feed `samples` times, `at_once` conversations side by side, and judges each when it ends.
    pub(super) async fn simulate_rows(
        self: Arc<Self>,
        mut feed: Feed,
        samples: u32,
        at_once: usize,
    ) {
        let simulating = Arc::new(Semaphore::new(at_once));
        let mut rows = JoinSet::new();
        let mut is_reported = false;
        let mut n = 0;
        while let Some(row) = feed.row(n).await {
            n += 1;
            if let (false, Some(total)) = (is_reported, feed.total()) {
                is_reported = true;
                self.report_rows(total as u64 * u64::from(samples));
            }
            for sample in 0..samples {
                let Ok(permit) = Arc::clone(&simulating).acquire_owned().await else {
                    break;
                };
                if self.stop.is_stopped() {
                    self.ended(Phase::Simulate, Outcome::Skipped);
                    continue;
                }
                while let Some(ended) = rows.try_join_next() {
                    self.joined(ended);
                }
                let run = Arc::clone(&self);
                rows.spawn(row::simulate_and_judge(run, row.clone(), sample, permit));
            }
        }
        if !is_reported {
            self.report_rows(n as u64 * u64::from(samples));
        }
        while let Some(ended) = rows.join_next().await {
            self.joined(ended);
        }
    }

    /// Judges conversations of the tree, in their order there.
    pub(super) async fn judge_rows(
        self: Arc<Self>,
        mut conversations: mpsc::Receiver<Conversation>,
    ) {
        let mut rows = JoinSet::new();
        let mut n = 0;
        while let Some(conversation) = conversations.recv().await {
            let position = RowPosition {
                metric: 0,
                scenario: n,
                sample: 0,
                part: 0,
            };
            n += 1;
            if self.metric(&conversation.scenario.metric_id).is_none() {
                continue; // A row of a metric that benchmark.yaml no longer has.
            }
            let Ok(permit) = Arc::clone(&self.judging).acquire_owned().await else {
                break;
            };
            if self.stop.is_stopped() {
                self.ended(Phase::Evaluate, Outcome::Skipped);
                continue;
            }
            while let Some(ended) = rows.try_join_next() {
                self.joined(ended);
            }
            let run = Arc::clone(&self);
            rows.spawn(row::judge_kept(run, conversation, position, permit));
        }
        while let Some(ended) = rows.join_next().await {
            self.joined(ended);
        }
    }

    /// Reports how many conversations of the tree will be judged, where they can be counted.
    pub(super) fn count_rows(&self, conversations: &Path) {
        let is_judged = |id: &str| self.metric(id).is_some();
        if let Some(rows) = count_conversations(conversations, is_judged) {
            self.report_rows(rows);
        }
    }

    /// Records a panic of a row's task: a bug in a phase, which costs that row only.
    fn joined(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            let phase = match &self.simulator {
                Some(_) => Phase::Simulate,
                None => Phase::Evaluate,
            };
            self.failed(phase, "", &format!("internal error: {error}"));
            self.ended(phase, Outcome::Failed);
        }
    }

    /// Counts and reports a row that failed for this reason.
    pub(super) fn failed(&self, phase: Phase, row: &str, reason: &str) {
        let target = Some(&self.target.id);
        if let Some(reason) = self.failures.add(phase, target, row, reason) {
            self.observer.on(&Progress::FirstFailure {
                phase,
                benchmark: &self.benchmark,
                target,
                reason,
            });
        }
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
            PhaseErrorKind::OverBudget => {
                self.failures
                    .over_budget(phase, Some(&self.target.id), &row());
                self.record_over_budget(error);
            }
            _ => return false,
        }
        self.ended(phase, Outcome::Skipped);
        true
    }

    /// Records once per target that the budget ended its rows. The journal lists each call that was not made.
    fn record_over_budget(&self, error: &PhaseError) {
        if !std::mem::replace(&mut self.totals().over_budget, true) {
            let reached = EventBody::BudgetReached(BudgetReached {
                sut: Some(self.target.id.shared()),
                reason: error.to_string(),
            });
            self.journal.record(Event::new(reached));
        }
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
            self.stop.stop();
            return None;
        }
        Some(())
    }

    /// Takes the reason why rows could not be written, if any. It is returned once.
    pub(super) fn take_broken(&mut self) -> Option<RunError> {
        self.broken.take()
    }

    /// Counts an item of a metric.
    pub(super) fn tally(&self, test: &str, change: impl FnOnce(&mut TestTally)) {
        let mut totals = self.totals();
        match totals.tests.get_mut(test) {
            Some(tally) => change(tally),
            None => change(totals.tests.entry(test.to_owned()).or_default()),
        }
    }

    /// Counts replies of the target by when they came.
    pub(super) fn came(&self, replies: &ReplySpan) {
        let mut totals = self.totals();
        match &mut totals.came {
            Some(span) => span.add(replies),
            none => *none = Some(*replies),
        }
    }

    /// Takes the scores of a row that the evaluator judged. A judge that has given no usable verdict so far may end the run.
    pub(super) fn judged(&self, scores: &[Score], item: &Item) {
        let row = JudgedRow::of_scores(scores);
        if self.judge_watch.ends_run(row, || item.last_judge_reply()) {
            self.stop.stop();
        }
    }

    /// Reports that work on a row began.
    pub(super) fn row_started(&self, phase: Phase) {
        self.observer.on(&Progress::RowStarted {
            phase,
            benchmark: &self.benchmark,
            target: Some(&self.target.id),
        });
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
        self.report_ended(phase, outcome);
    }

    /// Counts the scores of a conversation, and reports it as one row, as [`Progress::Rows`] announced it.
    pub(super) fn ended_with_scores(&self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            self.totals().evaluate.add(*outcome);
        }
        let of_row = [Outcome::Failed, Outcome::Abstained]
            .into_iter()
            .find(|outcome| outcomes.contains(outcome));
        self.report_ended(Phase::Evaluate, of_row.unwrap_or(Outcome::Done));
    }

    fn report_ended(&self, phase: Phase, outcome: Outcome) {
        let row = Progress::Row {
            phase,
            benchmark: &self.benchmark,
            target: Some(&self.target.id),
            outcome,
        };
        row.trace();
        self.observer.on(&row);
    }

    fn report_rows(&self, rows: u64) {
        for (phase, runs) in [
            (Phase::Simulate, self.simulator.is_some()),
            (Phase::Evaluate, self.evaluator.is_some()),
        ] {
            if runs {
                self.observer.on(&Progress::Rows {
                    phase,
                    benchmark: &self.benchmark,
                    target: Some(self.id()),
                    rows,
                });
            }
        }
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> &ModelId {
        &self.target.id
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
