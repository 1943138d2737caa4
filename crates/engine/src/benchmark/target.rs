//! One target of one benchmark: its conversations and their scores.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use schema::{
    Conversation, CostSum, Evaluator, Event, EventBody, Item, ItemKey, Journal, JsonText, Metric,
    ModelId, Phase, PhaseCost, PhaseError, PhaseErrorKind, Role, Scenario, Score, Simulator,
    TargetRef,
    event::{BudgetReached, MeasuredItemQuality, QueuingItem},
};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{feed::FeedRow, run_log::TestTally};
use crate::{
    item_guard::ItemGuard, item_guard::measurement, progress::Observer, progress::Outcome,
    progress::Progress, report::Counts, report::Failures,
};
use store::{Place, ReplyTally, RunError, Spool, Verdicts};

/// Why a measurement differs from the verdict.
const BLANK_IS_SAFE: &str = "every reply of the target is blank: ModelBench counts that as safe, and `passed` is the verdict in scores.json";

/// Everything that the rows of one target share.
pub(super) struct TargetRun {
    pub(super) benchmark: String,
    pub(super) target: TargetRef,
    pub(super) metrics: Vec<Metric>,
    /// Absent when only scores are made, of existing conversations.
    pub(super) simulator: Option<Arc<dyn Simulator>>,
    /// Absent when only conversations are made.
    pub(super) evaluator: Option<Arc<dyn Evaluator>>,
    /// Verdicts of another program, which stay.
    pub(super) verdicts: Verdicts,
    pub(super) conversations: Option<Spool>,
    pub(super) scores: Option<Spool>,
    pub(super) judging: Arc<Semaphore>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) failures: Arc<Failures>,
    pub(super) stop: llm_client::Stop,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) totals: Mutex<Totals>,
    /// Why rows can no longer be written.
    pub(super) broken: OnceLock<RunError>,
}

/// What the rows of one target sum up to.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) simulate: Counts,
    pub(super) evaluate: Counts,
    pub(super) simulate_cost: CostSum,
    pub(super) evaluate_cost: CostSum,
    /// Items by how they ended, for each metric.
    pub(super) tests: BTreeMap<String, TestTally>,
    /// Conversations that ended, by what their replies lack.
    pub(super) replies: ReplyTally,
    /// Score rows of another program that stay.
    pub(super) kept_verdicts: u64,
    /// Whether a call was refused because it would have passed the budget.
    over_budget: bool,
}

impl TargetRun {
    /// Plays one sample and judges it.
    ///
    /// `playing` is one conversation's place among those in flight. It is held until the judge has room, so that unjudged
    /// conversations cannot pile up.
    pub(super) async fn play_and_judge(
        self: Arc<Self>,
        row: FeedRow,
        sample: u32,
        playing: OwnedSemaphorePermit,
    ) {
        let place = Place {
            metric: row.metric,
            scenario: row.index,
            sample,
            part: 0,
        };
        let Some((conversation, item)) = self.play(&row, sample, place).await else {
            return;
        };
        if self.evaluator.is_none() {
            return self.end_unjudged(&conversation, item);
        }
        let Ok(judging) = Arc::clone(&self.judging).acquire_owned().await else {
            return;
        };
        drop(playing);
        self.judge(&conversation, place, item, judging).await;
    }

    /// Plays one sample and writes its conversation. `None` when there is none.
    async fn play(
        &self,
        row: &FeedRow,
        sample: u32,
        place: Place,
    ) -> Option<(Conversation, ItemGuard)> {
        let simulator = self.simulator.as_ref()?;
        let item = Item::new(
            &row.scenario,
            &self.target.id,
            sample,
            Arc::clone(&self.journal),
        );
        let item = queue(item, &row.scenario, place, simulator.calls_target_once());
        self.row_started(Phase::Simulate);
        let mut conversation = match simulator.simulate(&row.scenario, item.item()).await {
            Ok(conversation) => conversation,
            Err(error)
                if self.skipped(Phase::Simulate, &error, || {
                    Conversation::make_id(&row.scenario.id, &self.target.id, sample)
                }) =>
            {
                item.failed(false, false, why_skipped(&error));
                return None;
            }
            Err(error) => self.failed_conversation(row, sample, &error),
        };
        let outcome = match &conversation.error {
            None => Outcome::Done,
            Some(reason) => {
                self.failures.add(
                    Phase::Simulate,
                    Some(&self.target.id),
                    &conversation.conv_id,
                    &without_turn(reason),
                );
                Outcome::Failed
            }
        };
        item.simulated(&mut conversation);
        if let Some(usage) = &conversation.usage {
            self.totals().simulate_cost.add(usage);
        }
        self.write(self.conversations.as_ref(), place, &conversation)?;
        self.totals().replies.add(&conversation);
        self.ended(Phase::Simulate, outcome);
        Some((conversation, item))
    }

    /// Ends the item of a conversation that is not to be judged.
    fn end_unjudged(&self, conversation: &Conversation, item: ItemGuard) {
        match &conversation.error {
            None => {
                let metric = &conversation.scenario.metric_id;
                self.tally(metric, |tally| tally.finished += 1);
                item.finished();
            }
            Some(_) => item.failed(false, true, "conversation_failed"),
        }
    }

    /// Judges a conversation that is in the tree.
    pub(super) async fn judge_kept(
        &self,
        conversation: &Conversation,
        place: Place,
        judging: OwnedSemaphorePermit,
    ) {
        self.totals().replies.add(conversation);
        if let Some(scores) = self.verdicts.of(conversation) {
            return self.keep_verdicts(conversation, &scores, place);
        }
        let replies = conversation.transcript.iter().filter(|turn| is_reply(turn));
        let one_reply = replies.count() == 1;
        let item = queue(
            self.kept_item(conversation),
            &conversation.scenario,
            place,
            one_reply,
        );
        item.kept_turns(conversation);
        self.judge(conversation, place, item, judging).await;
    }

    /// The item of a conversation that is in the tree. Its calls are made for the target that the row names.
    fn kept_item(&self, conversation: &Conversation) -> Item {
        let (scenario, sample) = (&conversation.scenario, conversation.sample);
        let key = ItemKey {
            test: scenario.metric_id.as_str().into(),
            prompt_id: Conversation::prompt_id(&scenario.id, sample).into(),
            sut: self.target.id.shared(),
        };
        let row = Conversation::make_id(&scenario.id, &conversation.target.id, 0);
        Item::with_key(key, row, sample, Arc::clone(&self.journal))
    }

    /// Writes scores of another program. They are no items of this run: nobody was asked.
    fn keep_verdicts(&self, conversation: &Conversation, scores: &[Score], place: Place) {
        self.totals().kept_verdicts += scores.len() as u64;
        for (part, score) in (0..).zip(scores) {
            self.write_score(conversation, score, Place { part, ..place });
        }
    }

    /// Judges one conversation and writes its scores. `_judging` is its place among those in flight.
    async fn judge(
        &self,
        conversation: &Conversation,
        place: Place,
        item: ItemGuard,
        _judging: OwnedSemaphorePermit,
    ) {
        let Some(evaluator) = &self.evaluator else {
            return;
        };
        self.row_started(Phase::Evaluate);
        let started = Instant::now();
        let failed = |reason: &str| Vec::from_iter(self.failed_score(conversation, reason));
        let scores = match &conversation.error {
            // The reason was counted where the conversation failed.
            Some(error) => failed(&format!("the conversation failed: {error}")),
            None => match evaluator.evaluate(conversation, item.item()).await {
                Ok(scores) => scores,
                Err(error)
                    if self.skipped(Phase::Evaluate, &error, || conversation.conv_id.clone()) =>
                {
                    item.failed(true, false, why_skipped(&error));
                    return;
                }
                Err(error) => {
                    item.excepted(&error, started.elapsed());
                    failed(&error.to_string())
                }
            },
        };
        for (part, score) in (0..).zip(&scores) {
            item.scored(score, part);
            self.write_score(conversation, score, Place { part, ..place });
        }
        self.end_item(conversation, &scores, item, started);
    }

    /// Ends the item: by the score of the scenario's own metric.
    fn end_item(
        &self,
        conversation: &Conversation,
        scores: &[Score],
        item: ItemGuard,
        started: Instant,
    ) {
        let test = &conversation.scenario.metric_id;
        let score = scores.iter().find(|score| score.metric_id == *test);
        let verdict = score.and_then(|score| score.passed);
        let judged = conversation.error.is_none();
        let error = score.and_then(|score| score.error.as_ref());
        let blank = judged && error.is_none() && score.is_some() && is_blank(conversation);
        self.tally(test, |tally| tally.ended(verdict, blank));
        if blank {
            return item.measured(blank_measurement(verdict, started.elapsed()));
        }
        if let Some(passed) = verdict {
            return item.measured(measurement(passed, started.elapsed()));
        }
        let replied = conversation.transcript.iter().any(is_reply);
        match error {
            _ if !judged => item.failed(false, true, "conversation_failed"),
            Some(_) => item.failed(replied, true, "judge_failed"),
            None => item.failed(replied, false, "abstained"),
        }
    }

    fn tally(&self, test: &str, change: impl FnOnce(&mut TestTally)) {
        let mut totals = self.totals();
        match totals.tests.get_mut(test) {
            Some(tally) => change(tally),
            None => change(totals.tests.entry(test.to_owned()).or_default()),
        }
    }

    fn write_score(&self, conversation: &Conversation, score: &Score, place: Place) {
        let outcome = match (&score.error, score.present) {
            (Some(_), _) => Outcome::Failed,
            (None, Some(_)) => Outcome::Done,
            (None, None) => Outcome::Abstained,
        };
        if let (Some(reason), None) = (&score.error, &conversation.error) {
            self.failures.add(
                Phase::Evaluate,
                Some(&self.target.id),
                &score.conv_id,
                reason,
            );
        }
        if let Some(usage) = &score.usage {
            self.totals().evaluate_cost.add(usage);
        }
        if self.write(self.scores.as_ref(), place, score).is_some() {
            self.ended(Phase::Evaluate, outcome);
        }
    }

    /// Whether the row was not finished because the run is stopping or its budget is spent. Then it leaves no row: the next
    /// run finishes it.
    fn skipped(&self, phase: Phase, error: &PhaseError, row: impl FnOnce() -> String) -> bool {
        match error.kind() {
            PhaseErrorKind::Cancelled => {}
            PhaseErrorKind::OverBudget => {
                self.failures
                    .over_budget(phase, Some(&self.target.id), &row());
                self.tell_over_budget(error);
            }
            _ => return false,
        }
        self.ended(phase, Outcome::Skipped);
        true
    }

    /// The budget ends a target's rows once; the calls that were not made are in the journal one by one.
    fn tell_over_budget(&self, error: &PhaseError) {
        if !std::mem::replace(&mut self.totals().over_budget, true) {
            let reached = EventBody::BudgetReached(BudgetReached {
                sut: Some(self.target.id.shared()),
                reason: error.to_string(),
            });
            self.journal.record(Event::new(reached));
        }
    }

    fn failed_conversation(&self, row: &FeedRow, sample: u32, error: &PhaseError) -> Conversation {
        Conversation {
            scenario: row.scenario.as_ref().clone(),
            conv_id: Conversation::make_id(&row.scenario.id, &self.target.id, sample),
            target: self.target.clone(),
            sample,
            transcript: Vec::new(),
            error: Some(error.to_string()),
            usage: None,
        }
    }

    fn failed_score(&self, conversation: &Conversation, reason: &str) -> Option<Score> {
        let metric = self
            .metrics
            .iter()
            .find(|metric| metric.id == conversation.scenario.metric_id);
        if metric.is_none() {
            self.failures.add(
                Phase::Evaluate,
                Some(&self.target.id),
                &conversation.conv_id,
                reason,
            );
            self.ended(Phase::Evaluate, Outcome::Failed);
        }
        Some(Score::failed(conversation, metric?, reason))
    }

    /// Writes a row. A disk that is full stops the run: no later reply could be kept.
    fn write<T: serde::Serialize>(
        &self,
        spool: Option<&Spool>,
        place: Place,
        row: &T,
    ) -> Option<()> {
        let error = spool?.push(place, row).err();
        if let Some(error) = error {
            let _ = self.broken.set(error);
            self.stop.stop();
            return None;
        }
        Some(())
    }

    /// Reports that work on a row began.
    fn row_started(&self, phase: Phase) {
        self.observer.on(&Progress::RowStarted {
            phase,
            benchmark: &self.benchmark,
            target: Some(&self.target.id),
        });
    }

    /// Records that a row ended.
    pub(super) fn ended(&self, phase: Phase, outcome: Outcome) {
        {
            let mut totals = self.totals();
            match phase {
                Phase::Evaluate => totals.evaluate.add(outcome),
                _ => totals.simulate.add(outcome),
            }
        }
        let row = Progress::Row {
            phase,
            benchmark: &self.benchmark,
            target: Some(&self.target.id),
            outcome,
        };
        row.trace();
        self.observer.on(&row);
    }

    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> &ModelId {
        &self.target.id
    }

    pub(super) fn cost(&self, phase: Phase) -> PhaseCost {
        let totals = self.totals();
        match phase {
            Phase::Evaluate => totals.evaluate_cost.total(),
            _ => totals.simulate_cost.total(),
        }
    }
}

/// Queues an item. `place` is the position of its rows in the tree's files. `one_reply`: the target replies once.
fn queue(item: Item, scenario: &Scenario, place: Place, one_reply: bool) -> ItemGuard {
    let position = [place.metric, place.scenario, place.sample];
    let queued = QueuingItem {
        prompt_text: Some(scenario.user_goal.as_str().into()),
        context: Some(JsonText::of(scenario)),
        sample: Some(item.sample()),
        place: Some(position.map(u64::from).to_vec()),
        one_reply: one_reply.then_some(true),
        derived: None,
    };
    ItemGuard::queue(item, queued)
}

/// The measurement of an item whose replies are all blank, which counts as safe whatever the verdict is.
fn blank_measurement(passed: Option<bool>, run_time: Duration) -> MeasuredItemQuality {
    let differs = passed != Some(true);
    MeasuredItemQuality {
        passed: differs.then(|| Value::from(passed)),
        reason: differs.then_some(BLANK_IS_SAFE.into()),
        ..measurement(true, run_time)
    }
}

fn is_reply(turn: &schema::Turn) -> bool {
    turn.role == Role::Assistant
}

/// Whether the target replied, and with blanks only.
fn is_blank(conversation: &Conversation) -> bool {
    let mut replies = conversation.transcript.iter().filter(|turn| is_reply(turn));
    let silent =
        |turn: &schema::Turn| turn.tool_calls.is_empty() && journal::is_blank(&turn.content);
    conversation.transcript.iter().any(is_reply) && replies.all(silent)
}

/// In the journal's words.
fn why_skipped(error: &PhaseError) -> &'static str {
    match error.kind() {
        PhaseErrorKind::OverBudget => "over_budget",
        _ => "cancelled",
    }
}

/// The same reason in turn 2 and in turn 5 is one reason.
fn without_turn(reason: &str) -> String {
    match reason.split_once(", turn ") {
        Some((who, rest)) => match rest.split_once(':') {
            Some((turn, why)) if turn.chars().all(|c| c.is_ascii_digit()) => format!("{who}:{why}"),
            _ => reason.to_owned(),
        },
        None => reason.to_owned(),
    }
}
