//! One row: a sample of a scenario with a target, from the queue to its conversation and scores.

use std::{sync::Arc, time::Instant};

use schema::{
    Conversation, Item, ItemKey, JsonText, NoVerdict, Phase, PhaseError, PhaseErrorKind, Scenario,
    Score, ScoreOutcome, Turn, Unscored, event::QueuingItem,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    feed::{FeedRow, RowEnd, RowVerdict},
    target::TargetRun,
};
use crate::{
    item_guard::{ItemGuard, blank_measurement, measurement},
    judge_watch::JudgedRow,
    progress::Outcome,
};
use store::{ReplyTally, RowPosition};

/// Simulates one sample of a scenario and judges it.
///
/// `simulating` is the conversation's permit among those in flight. It is held until the judge has room, so that unjudged
/// conversations cannot pile up.
pub(super) async fn simulate_and_judge(
    run: &TargetRun,
    row: &FeedRow,
    sample: u32,
    simulating: OwnedSemaphorePermit,
) -> RowEnd {
    let position = RowPosition {
        metric: row.metric,
        scenario: row.index,
        sample,
        part: 0,
    };
    let Some(simulator) = &run.simulator else {
        return RowEnd::Left;
    };
    let item = run.item(&row.scenario, sample);
    let one_reply = simulator.calls_target_once(&row.scenario);
    let item = queue(item, &row.scenario, position, one_reply);
    run.state.report_row(Phase::Simulate);
    let conversation = match simulator.simulate(&row.scenario, item.item()).await {
        Ok(conversation) => conversation,
        Err(error) if run.skipped(Phase::Simulate, &error, || conv_id(run, row, sample)) => {
            item.failed(false, false, why_skipped(&error));
            return RowEnd::Left;
        }
        Err(error) => failed_conversation(run, row, sample, &error),
    };
    let row = Row {
        run,
        position,
        item,
    };
    let Some((row, conversation)) = row.simulated(conversation) else {
        return RowEnd::Left;
    };
    if run.evaluator.is_none() {
        row.end_unjudged(&conversation);
        return RowEnd::Ended(Vec::new());
    }
    let Ok(judging) = Arc::clone(&run.state.judging).acquire_owned().await else {
        return RowEnd::Left;
    };
    drop(simulating);
    row.judge(&conversation, judging).await
}

/// Judges a conversation that is already in the tree.
pub(super) async fn judge_kept(
    run: &TargetRun,
    conversation: &Conversation,
    position: RowPosition,
    judging: OwnedSemaphorePermit,
) {
    run.totals().replies.add(conversation);
    if let Some(scores) = run.verdicts.of(conversation) {
        return keep_verdicts(run, conversation, &scores, position);
    }
    let replies = conversation
        .transcript
        .iter()
        .filter(|turn| turn.is_reply());
    let one_reply = replies.count() == 1;
    let item = kept_item(run, conversation);
    let item = queue(item, &conversation.scenario, position, one_reply);
    item.kept_turns(conversation);
    let row = Row {
        run,
        position,
        item,
    };
    let _ = row.judge(conversation, judging).await;
}

/// A queued row that has a conversation.
struct Row<'r> {
    run: &'r TargetRun,
    /// The position in the files of the tree.
    position: RowPosition,
    item: ItemGuard,
}

impl Row<'_> {
    /// Writes the conversation. Returns `None` where it cannot be written.
    fn simulated(self, mut conversation: Conversation) -> Option<(Self, Conversation)> {
        let run = self.run;
        let outcome = match &conversation.error {
            None => Outcome::Done,
            Some(reason) => {
                let reason = without_turn(reason);
                run.state
                    .failed(Phase::Simulate, &conversation.conv_id, &reason);
                Outcome::Failed
            }
        };
        self.item.simulated(&mut conversation);
        if let Some(usage) = &conversation.usage {
            run.totals().simulate_cost.add(usage);
        }
        run.write(run.conversations.as_ref(), self.position, &conversation)?;
        run.totals().replies.add(&conversation);
        if outcome == Outcome::Done {
            run.state.came(self.item.item());
        }
        run.ended(Phase::Simulate, outcome);
        Some((self, conversation))
    }

    /// Ends the item of a conversation that will not be judged.
    fn end_unjudged(self, conversation: &Conversation) {
        match &conversation.error {
            None => {
                let metric = &conversation.scenario.metric_id;
                self.run.state.tally(metric, |tally| tally.finished += 1);
                self.item.finished();
            }
            Some(_) => self.item.failed(false, true, "conversation_failed"),
        }
    }

    /// Judges the conversation and writes its scores. `_judging` is its permit among those being judged.
    async fn judge(self, conversation: &Conversation, _judging: OwnedSemaphorePermit) -> RowEnd {
        let run = self.run;
        let Some(evaluator) = &run.evaluator else {
            return RowEnd::Left;
        };
        run.state.report_row(Phase::Evaluate);
        let started = Instant::now();
        let failed = |reason: Option<NoVerdict>, error: &str| {
            Vec::from_iter(failed_score(run, conversation, reason, error))
        };
        let scores = match why_unjudged(conversation) {
            // The reason was already counted where the conversation failed.
            Some((reason, error)) => failed(reason, &error),
            None => match evaluator.evaluate(conversation, self.item.item()).await {
                Ok(scores) => {
                    run.state
                        .judged(JudgedRow::of_scores(&scores), self.item.item());
                    scores
                }
                Err(error)
                    if run.skipped(Phase::Evaluate, &error, || conversation.conv_id.clone()) =>
                {
                    self.item.failed(true, false, why_skipped(&error));
                    return RowEnd::Left;
                }
                Err(error) => {
                    self.item.excepted(&error, started.elapsed());
                    for other in self.item.tests() {
                        other.failed(true, true, "judge_failed");
                    }
                    let reason = error.no_verdict().unwrap_or(NoVerdict::JudgeUnusable);
                    failed(Some(reason), &error.to_string())
                }
            },
        };
        for score in &scores {
            if run.metric(&score.metric_id).is_some() {
                // Queues an item for another metric that the evaluator judged without queuing one. For the row's own metric,
                // this returns the same item.
                let _ = self.item.item().for_test(&score.metric_id);
            }
        }
        let others = self.item.tests();
        let mut outcomes = Vec::with_capacity(scores.len());
        for (part, score) in (0..).zip(&scores) {
            let mut of_metric = others.iter();
            let other = of_metric.find(|other| *other.item().key().test == *score.metric_id);
            other.unwrap_or(&self.item).scored(score, part);
            let position = RowPosition {
                part,
                ..self.position
            };
            outcomes.extend(write_score(run, conversation, score, position));
        }
        run.ended_with_scores(&outcomes);
        for item in std::iter::once(self.item).chain(others) {
            end(run, item, conversation, &scores, started);
        }
        RowEnd::Ended(verdicts(conversation, &scores))
    }
}

/// The verdicts of a row.
fn verdicts(conversation: &Conversation, scores: &[Score]) -> Vec<RowVerdict> {
    let mut replies = ReplyTally::default();
    replies.add(conversation);
    let is_incomplete = replies.is_incomplete(&conversation.conv_id);
    let verdict = |score: &Score| RowVerdict {
        metric: score.metric_id.clone(),
        passed: score.outcome().passed(),
        is_incomplete,
    };
    scores.iter().map(verdict).collect()
}

/// Ends an item with the score of its metric.
fn end(
    run: &TargetRun,
    item: ItemGuard,
    conversation: &Conversation,
    scores: &[Score],
    started: Instant,
) {
    let test = Arc::clone(&item.item().key().test);
    let score = scores.iter().find(|score| *score.metric_id == *test);
    let verdict = score.and_then(|score| score.outcome().passed());
    let judged = why_unjudged(conversation).is_none();
    let error = score.and_then(Score::error);
    let blank = judged && error.is_none() && score.is_some() && is_blank(conversation);
    run.state.tally(&test, |tally| tally.ended(verdict, blank));
    if blank {
        return item.measured(blank_measurement(verdict, "scores.json", started.elapsed()));
    }
    if let Some(passed) = verdict {
        return item.measured(measurement(passed, started.elapsed()));
    }
    let replied = conversation.transcript.iter().any(Turn::is_reply);
    match error {
        _ if !judged => item.failed(false, true, "conversation_failed"),
        Some(_) => item.failed(replied, true, "judge_failed"),
        None => item.failed(replied, false, "abstained"),
    }
}

/// The item of a conversation that is in the tree. Its calls are made for the target that the row names.
fn kept_item(run: &TargetRun, conversation: &Conversation) -> Item {
    let (scenario, sample) = (&conversation.scenario, conversation.sample);
    let key = ItemKey {
        test: scenario.metric_id.as_str().into(),
        prompt_id: Conversation::prompt_id(&scenario.id, sample).into(),
        sut: run.id().shared(),
    };
    let row = Conversation::make_id(&scenario.id, &conversation.target.id, 0);
    Item::with_key(key, row, sample, Arc::clone(&run.state.journal))
}

/// Writes scores of another program. They are not items of this run: no judge was called.
fn keep_verdicts(
    run: &TargetRun,
    conversation: &Conversation,
    scores: &[Score],
    position: RowPosition,
) {
    run.state.report_row(Phase::Evaluate);
    run.totals().kept_verdicts += scores.len() as u64;
    let outcomes = (0..).zip(scores).filter_map(|(part, score)| {
        write_score(run, conversation, score, RowPosition { part, ..position })
    });
    run.ended_with_scores(&outcomes.collect::<Vec<_>>());
}

/// Writes a score. Returns how its row ended; `None` where it cannot be written.
fn write_score(
    run: &TargetRun,
    conversation: &Conversation,
    score: &Score,
    position: RowPosition,
) -> Option<Outcome> {
    let outcome = match score.outcome() {
        ScoreOutcome::Passed | ScoreOutcome::Failed => Outcome::Done,
        ScoreOutcome::Unscored(Unscored { is_error: true, .. }) => Outcome::Failed,
        ScoreOutcome::Unscored(_) => Outcome::Abstained,
    };
    if let (Some(reason), None) = (score.error(), &conversation.error) {
        run.state.failed(Phase::Evaluate, &score.conv_id, reason);
    }
    if let Some(usage) = &score.usage {
        run.totals().evaluate_cost.add(usage);
    }
    run.write(run.scores.as_ref(), position, score)?;
    Some(outcome)
}

fn conv_id(run: &TargetRun, row: &FeedRow, sample: u32) -> String {
    Conversation::make_id(&row.scenario.id, run.id(), sample)
}

fn failed_conversation(
    run: &TargetRun,
    row: &FeedRow,
    sample: u32,
    error: &PhaseError,
) -> Conversation {
    let scenario = row.scenario.as_ref().clone();
    Conversation {
        error: Some(error.to_string()),
        no_verdict: Some(error.no_verdict().unwrap_or(NoVerdict::SimulatorFault)),
        ..Conversation::new(scenario, run.state.target.clone(), sample, Vec::new())
    }
}

/// Whether a conversation is judged.
pub(crate) fn is_judged(conversation: &Conversation) -> bool {
    why_unjudged(conversation).is_none()
}

/// Why the conversation is not judged: it failed, or its simulated user stayed out of its role. `None`: it is judged.
fn why_unjudged(conversation: &Conversation) -> Option<(Option<NoVerdict>, String)> {
    if let Some(error) = &conversation.error {
        let error = format!("the conversation failed: {error}");
        return Some((conversation.no_verdict, error));
    }
    let fault = conversation.unmended_fault()?;
    let error = format!(
        "the simulated user fell out of its role in turn {}: {}",
        fault.turn,
        fault.fault.in_words()
    );
    Some((Some(NoVerdict::SimulatorFault), error))
}

fn failed_score(
    run: &TargetRun,
    conversation: &Conversation,
    reason: Option<NoVerdict>,
    error: &str,
) -> Option<Score> {
    let metric = run.metric(&conversation.scenario.metric_id);
    if metric.is_none() {
        run.state
            .failed(Phase::Evaluate, &conversation.conv_id, error);
        run.totals().evaluate.add(Outcome::Failed);
    }
    Some(Score::failed(conversation, metric?, reason, error))
}

/// Queues an item. `position` is the position of its rows in the tree's files. `one_reply`: the target replies once.
fn queue(item: Item, scenario: &Scenario, position: RowPosition, one_reply: bool) -> ItemGuard {
    let place = [position.metric, position.scenario, position.sample];
    let queued = QueuingItem {
        prompt_text: Some(scenario.user_goal.as_str().into()),
        context: Some(JsonText::of(scenario)),
        sample: Some(item.sample()),
        place: Some(place.map(u64::from).to_vec()),
        one_reply: one_reply.then_some(true),
        ..QueuingItem::default()
    };
    ItemGuard::queue(item, queued)
}

/// Whether the target replied, and only with blanks.
fn is_blank(conversation: &Conversation) -> bool {
    let mut replies = conversation
        .transcript
        .iter()
        .filter(|turn| turn.is_reply());
    let silent = |turn: &Turn| turn.tool_calls.is_empty() && journal::is_blank(&turn.content);
    conversation.transcript.iter().any(Turn::is_reply) && replies.all(silent)
}

/// The reason as the journal names it.
fn why_skipped(error: &PhaseError) -> &'static str {
    match error.kind() {
        PhaseErrorKind::OverBudget => "over_budget",
        _ => "cancelled",
    }
}

/// Removes the turn, so that the same reason in turn 2 and in turn 5 counts as one.
fn without_turn(reason: &str) -> String {
    match reason.split_once(", turn ") {
        Some((who, rest)) => match rest.split_once(':') {
            Some((turn, why)) if turn.chars().all(|c| c.is_ascii_digit()) => format!("{who}:{why}"),
            _ => reason.to_owned(),
        },
        None => reason.to_owned(),
    }
}
