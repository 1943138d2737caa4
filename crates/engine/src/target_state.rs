//! What the rows of one target share while they run: a target of a benchmark, or of a safety evaluation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use llm_client::Stop;
use schema::{
    Event, EventBody, Item, Journal, ModelId, Phase, PhaseError, ReplySpan, TargetRef,
    event::BudgetReached,
};
use tokio::sync::Semaphore;

use crate::{
    judge_watch::{JudgeWatch, JudgedRow},
    progress::{Observer, Outcome, Progress},
    report::Failures,
    session::Session,
    tally::TestTally,
};

/// What the rows of one target share: whom they report to, what ends them, and their tallies.
pub(crate) struct TargetState {
    /// The folder of the benchmark, or the kind of the safety evaluation, as progress names it.
    benchmark: String,
    pub(crate) target: TargetRef,
    /// The journal of the items.
    pub(crate) journal: Arc<dyn Journal>,
    /// The journal of events that belong to no item.
    run_journal: Arc<dyn Journal>,
    pub(crate) stop: Stop,
    /// Permits for what is being judged: conversations of a benchmark, messages of a safety evaluation.
    pub(crate) judging: Arc<Semaphore>,
    observer: Arc<dyn Observer>,
    failures: Arc<Failures>,
    judge_watch: Arc<JudgeWatch>,
    tallies: Mutex<RowTallies>,
}

/// The items of one target.
#[derive(Debug, Default)]
pub(crate) struct RowTallies {
    /// Items by how they ended, for each test.
    pub(crate) tests: BTreeMap<String, TestTally>,
    /// When the replies of the target came, in the conversations that did not fail.
    pub(crate) came: Option<ReplySpan>,
    /// Whether a call was refused because it would have passed the budget.
    over_budget: bool,
}

impl TargetState {
    /// The state before the first row. `judging`: how much is judged at the same time. `failures` and `judge_watch` belong to all
    /// targets of the run.
    pub(crate) fn new(
        session: &Session,
        benchmark: &str,
        target: &TargetRef,
        judging: usize,
        failures: &Arc<Failures>,
        judge_watch: &Arc<JudgeWatch>,
    ) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            target: target.clone(),
            journal: Arc::clone(session.journal()),
            run_journal: Arc::clone(session.journal()),
            stop: session.stop().clone(),
            judging: Arc::new(Semaphore::new(judging.max(1))),
            observer: Arc::clone(session.observer()),
            failures: Arc::clone(failures),
            judge_watch: Arc::clone(judge_watch),
            tallies: Mutex::default(),
        }
    }

    /// Sets the journal of events that belong to no item, where each target has its own.
    pub(crate) fn with_run_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.run_journal = journal;
        self
    }

    pub(crate) fn id(&self) -> &ModelId {
        &self.target.id
    }

    pub(crate) fn tallies(&self) -> MutexGuard<'_, RowTallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an item of a test.
    pub(crate) fn tally(&self, test: &str, change: impl FnOnce(&mut TestTally)) {
        let mut tallies = self.tallies();
        match tallies.tests.get_mut(test) {
            Some(tally) => change(tally),
            None => change(tallies.tests.entry(test.to_owned()).or_default()),
        }
    }

    /// Counts the replies of the target in `item` by when they came.
    pub(crate) fn came(&self, item: &Item) {
        let Some(replies) = item.replies_came() else {
            return;
        };
        let mut tallies = self.tallies();
        match &mut tallies.came {
            Some(span) => span.add(&replies),
            none => *none = Some(replies),
        }
    }

    /// Takes what a judged row says about its judges. Judges that have given no usable verdict so far may end the run.
    pub(crate) fn judged(&self, row: JudgedRow, item: &Item) {
        if self.judge_watch.ends_run(row, || item.last_judge_reply()) {
            self.stop.stop();
        }
    }

    /// Counts a row that failed for this reason, and reports the first ones.
    pub(crate) fn failed(&self, phase: Phase, row: &str, reason: &str) {
        let target = Some(self.id());
        if let Some(reason) = self.failures.add(phase, target, row, reason) {
            self.observer.on(&Progress::FirstFailure {
                phase,
                benchmark: &self.benchmark,
                target,
                reason,
            });
        }
    }

    /// Counts a row that the budget left out, and records once that it did. The journal lists each call that was not made.
    pub(crate) fn over_budget(&self, phase: Phase, row: &str, error: &PhaseError) {
        self.failures.over_budget(phase, Some(self.id()), row);
        if !std::mem::replace(&mut self.tallies().over_budget, true) {
            let reached = EventBody::BudgetReached(BudgetReached {
                sut: Some(self.id().shared()),
                reason: error.to_string(),
            });
            self.run_journal.record(Event::new(reached));
        }
    }

    /// Reports that the rows of a phase begin.
    pub(crate) fn report_start(&self, phase: Phase) {
        self.report(&Progress::Started {
            phase,
            benchmark: &self.benchmark,
            target: Some(self.id()),
            rows: None,
        });
    }

    /// Reports how many rows a phase has.
    pub(crate) fn report_rows(&self, phase: Phase, rows: u64) {
        self.report(&Progress::Rows {
            phase,
            benchmark: &self.benchmark,
            target: Some(self.id()),
            rows,
        });
    }

    /// Reports that work on a row began.
    pub(crate) fn report_row(&self, phase: Phase) {
        self.report(&Progress::RowStarted {
            phase,
            benchmark: &self.benchmark,
            target: Some(self.id()),
        });
    }

    /// Reports that a row ended.
    pub(crate) fn report_ended(&self, phase: Phase, outcome: Outcome) {
        self.report(&Progress::Row {
            phase,
            benchmark: &self.benchmark,
            target: Some(self.id()),
            outcome,
        });
    }

    /// Reports that the rows of a phase have ended.
    pub(crate) fn report_finished(&self, phase: Phase) {
        self.report(&Progress::Finished {
            phase,
            benchmark: &self.benchmark,
            target: Some(self.id()),
        });
    }

    fn report(&self, progress: &Progress<'_>) {
        progress.trace();
        self.observer.on(progress);
    }
}
