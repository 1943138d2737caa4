//! Conversations: an attack that adapts to the target, message by message.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use schema::{
    Item, Phase, Role, Turn,
    safety::{
        ErrorKind, MultiTurnSettings, MultiTurnStrategy, Stage, TestCase, Verdict,
        results::AttackerRefusal,
    },
    text::is_blank,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    attempt::{Attempt, AttemptKind, AttemptResult, Outcome},
    dialogue::{Dialogue, Exchanged},
    error::{CaseAbort, CaseFailure},
    report::NotRun,
    target_context::{TargetContext, Transcript, nothing_said, spent},
};
use crate::feed::{Feed, FeedRunner};

/// The result of all conversations.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    pub(super) ended: Vec<AttemptResult>,
    pub(super) not_run: NotRun,
}

/// Each case once with each of the test types that the settings name.
pub(super) struct ConversationFeed {
    attempts: VecDeque<Attempt>,
    rows: u64,
    ended: BTreeMap<usize, AttemptResult>,
    not_run: NotRun,
}

impl Feed for ConversationFeed {
    type Unit = Attempt;
    type End = AttemptResult;

    async fn next(&mut self) -> Option<Attempt> {
        self.next_now()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn ended(&mut self, place: usize, end: AttemptResult) {
        if let Outcome::NotRun(skip) = end.outcome {
            self.not_run.add(skip, 1);
        }
        self.ended.insert(place, end);
    }
}

impl ConversationFeed {
    pub(super) fn new(cases: &[Arc<TestCase>], settings: &MultiTurnSettings) -> Self {
        Self::of((0..).zip(cases), 0, settings)
    }

    /// One case, which is at `place` among others.
    pub(super) fn of_case(case: &Arc<TestCase>, place: u32, settings: &MultiTurnSettings) -> Self {
        let before = u64::from(place) * settings.test_types.len() as u64;
        Self::of([(place, case)], before, settings)
    }

    fn of<'c>(
        cases: impl IntoIterator<Item = (u32, &'c Arc<TestCase>)>,
        before: u64,
        settings: &MultiTurnSettings,
    ) -> Self {
        let mut not_run = NotRun::default();
        let attempts = attempts(cases, before, settings, &mut not_run);
        Self {
            rows: attempts.len() as u64,
            attempts: attempts.into(),
            ended: BTreeMap::new(),
            not_run,
        }
    }

    /// The next conversation, if one waits.
    pub(super) fn next_now(&mut self) -> Option<Attempt> {
        self.attempts.pop_front()
    }

    /// Whether all conversations have ended.
    pub(super) fn is_over(&self) -> bool {
        self.ended.len() as u64 == self.rows
    }

    /// The results, when all units have ended.
    pub(super) fn into_conversations(self) -> Conversations {
        Conversations {
            ended: self.ended.into_values().collect(),
            not_run: self.not_run,
        }
    }
}

/// Runs the conversations of one target.
pub(super) struct ConversationRunner {
    pub(super) context: Arc<TargetContext>,
    pub(super) settings: MultiTurnSettings,
    pub(super) strategies: Vec<Arc<dyn MultiTurnStrategy>>,
}

impl FeedRunner<Attempt, AttemptResult> for ConversationRunner {
    async fn run(
        self: Arc<Self>,
        attempt: Arc<Attempt>,
        _permit: OwnedSemaphorePermit,
    ) -> AttemptResult {
        self.run_conversation(attempt.as_ref().clone()).await
    }

    fn not_begun(&self, attempt: &Attempt) -> AttemptResult {
        self.context.not_begun(attempt.clone())
    }

    fn panicked(&self, attempt: &Attempt, message: String) -> AttemptResult {
        self.context.panicked(attempt.clone(), message)
    }

    fn report_rows(&self, rows: u64) {
        self.context.state.report_rows(Phase::Simulate, rows);
    }
}

/// How a conversation ended.
enum Left {
    /// All messages were exchanged.
    Said,
    /// The attacker declined.
    Declined(String),
    /// Something failed, or the run was stopped.
    Aborted(CaseAbort),
}

/// The conversations of `cases`, each with its place; `before` of others have lower numbers.
fn attempts<'c>(
    cases: impl IntoIterator<Item = (u32, &'c Arc<TestCase>)>,
    before: u64,
    settings: &MultiTurnSettings,
    not_run: &mut NotRun,
) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for (place, case) in cases {
        for test_type in &settings.test_types {
            let planned = before + attempts.len() as u64;
            if settings.max_cases.is_some_and(|max| planned >= max) {
                not_run.cap += 1;
                continue;
            }
            attempts.push(Attempt {
                id: i64::try_from(planned + 1).unwrap_or(i64::MAX),
                case: Arc::clone(case),
                prompt_id: format!("{}__{test_type}", case.id).into(),
                prompt: case.attack_intent().into(),
                place,
                kind: AttemptKind::Conversation {
                    test_type: test_type.as_str().into(),
                },
            });
        }
    }
    attempts
}

impl ConversationRunner {
    /// Runs one case. Where the attacker declines, the other strategies are tried one after the other.
    async fn run_conversation(&self, attempt: Attempt) -> AttemptResult {
        let wanted = attempt.test_type().unwrap_or_default();
        let others = self
            .strategies
            .iter()
            .map(|one| one.name())
            .filter(|name| *name != wanted);
        let names: Vec<&str> = std::iter::once(wanted.as_str()).chain(others).collect();
        let by_name: BTreeMap<&str, &Arc<dyn MultiTurnStrategy>> = self
            .strategies
            .iter()
            .map(|one| (one.name(), one))
            .collect();
        let mut declined: Vec<(String, String)> = Vec::new();
        let mut spend = schema::Spend::default();
        for name in names {
            let Some(strategy) = by_name.get(name) else {
                continue;
            };
            let (transcript, outcome) = match self.simulate(strategy.as_ref(), &attempt).await {
                Ok(simulated) => simulated,
                Err((transcript, reason)) => {
                    spend.add(&transcript.spend);
                    declined.push((name.to_owned(), reason));
                    continue;
                }
            };
            spend.add(&transcript.spend);
            let attempt = Attempt {
                kind: AttemptKind::Conversation {
                    test_type: name.into(),
                },
                ..attempt
            };
            let ended = AttemptResult {
                refusals: refusals(&attempt.case, &declined, Some(name)),
                attempt,
                spend,
                turns: transcript.turns,
                outcome,
            };
            self.context.ended(&ended);
            return ended;
        }
        let ended = AttemptResult {
            refusals: refusals(&attempt.case, &declined, None),
            attempt,
            spend,
            turns: Vec::new(),
            outcome: Outcome::Error(all_declined(&declined)),
        };
        self.context.ended(&ended);
        ended
    }

    /// Runs one case with one strategy, as one item of the journal. `Err`: the attacker declined.
    async fn simulate(
        &self,
        strategy: &dyn MultiTurnStrategy,
        attempt: &Attempt,
    ) -> Result<(Transcript, Outcome), (Transcript, String)> {
        let name = strategy.name();
        let prompt_id = match attempt.test_type() {
            Some(own) if own == name => attempt.prompt_id.to_string(),
            // Another strategy takes over as a new item, since the first one has ended.
            _ => format!("{}__{name}", attempt.prompt_id),
        };
        let item = attempt.item(
            &prompt_id,
            &self.context.state.target,
            &self.context.state.journal,
        );
        let queued = self.context.queue(attempt, item);
        let item = queued.item();
        let exchanges = self.settings.max_turns.exchanges();
        let attack = strategy.attack(&attempt.case, exchanges, item);
        let model = Arc::clone(&self.context.model);
        let mut dialogue = Dialogue::new(model, attack, exchanges, item.clone());
        let mut transcript = Transcript::default();
        let left = self
            .converse(&mut dialogue, attempt, item, &mut transcript)
            .await;
        self.context.model.end(item).await;
        transcript.spend.add(dialogue.spend());
        let outcome = match left {
            Left::Declined(reason) => {
                self.context.declined(queued);
                return Err((transcript, reason));
            }
            Left::Aborted(CaseAbort::NotRun(skip)) => Outcome::NotRun(skip),
            Left::Aborted(CaseAbort::Failed(failure)) => {
                self.conclude(&mut transcript, attempt, item, Some(failure))
                    .await
            }
            Left::Said => self.conclude(&mut transcript, attempt, item, None).await,
        };
        if matches!(outcome, Outcome::Scored(_)) {
            end_on_answer(&mut transcript.turns);
        }
        self.context.end(queued, &transcript, &outcome);
        Ok((transcript, outcome))
    }

    async fn conclude(
        &self,
        transcript: &mut Transcript,
        attempt: &Attempt,
        item: &Item,
        abort: Option<CaseFailure>,
    ) -> Outcome {
        match self.context.score(transcript, &attempt.case, item).await {
            Ok(failure) => self.context.judge(transcript, abort, failure),
            Err(skip) => Outcome::NotRun(skip),
        }
    }

    /// Lets attacker and target exchange messages.
    async fn converse(
        &self,
        dialogue: &mut Dialogue,
        attempt: &Attempt,
        item: &Item,
        transcript: &mut Transcript,
    ) -> Left {
        loop {
            let exchanged = dialogue.exchange().await;
            for said in dialogue.conversation().iter().skip(transcript.turns.len()) {
                self.context.hear(transcript, said.clone(), item);
            }
            match exchanged {
                Ok(Exchanged::Replied) => {}
                Ok(Exchanged::Over) if transcript.turns.is_empty() => {
                    let message = "the attacker ended the conversation before anything was said";
                    let (stage, kind) = (Stage::Attacker, ErrorKind::InvalidResponse);
                    return Left::Aborted(CaseAbort::of(stage, kind, message));
                }
                Ok(Exchanged::Over) => return Left::Said,
                Ok(Exchanged::AttackerRefused { reason }) => return Left::Declined(reason),
                Ok(Exchanged::NothingSaid { reason }) => {
                    return Left::Aborted(nothing_said(reason));
                }
                Err(broken) => {
                    transcript.spend.add(&spent(&broken.error));
                    return Left::Aborted(self.context.abort(broken.stage, &broken.error, item));
                }
            }
            let messages = u32::try_from(transcript.turns.len()).unwrap_or(u32::MAX);
            let settings = &self.settings;
            if settings.early_stop && messages < settings.max_turns.messages() {
                if let Err(skip) = self.context.score(transcript, &attempt.case, item).await {
                    return Left::Aborted(CaseAbort::NotRun(skip));
                }
                if matches!(self.context.verdict(transcript), Verdict::Failed(_)) {
                    transcript.stopped_early = true;
                    return Left::Said;
                }
            }
        }
    }
}

/// Removes everything after the last answer: a user message that was not answered, or an empty reply to it.
fn end_on_answer(turns: &mut Vec<Turn>) {
    let answer = |turn: &Turn| turn.role == Role::Assistant && !is_blank(&turn.content);
    while turns.last().is_some_and(|turn| !answer(turn)) {
        turns.pop();
    }
}

fn refusals(
    case: &TestCase,
    declined: &[(String, String)],
    last: Option<&str>,
) -> Vec<AttackerRefusal> {
    let row = |(at, (strategy, reason)): (usize, &(String, String))| {
        let next = declined.get(at + 1).map(|(next, _)| next.as_str());
        AttackerRefusal {
            case_id: case.id.clone(),
            strategy: strategy.clone(),
            layer: None,
            retried_with: next.or(last).map(ToOwned::to_owned),
            reason: schema::reply::excerpt(reason),
            extra: schema::Extra::new(),
        }
    };
    declined.iter().enumerate().map(row).collect()
}

fn all_declined(declined: &[(String, String)]) -> CaseFailure {
    let names: Vec<&str> = declined.iter().map(|(name, _)| name.as_str()).collect();
    let reason = declined.last().map_or("", |(_, reason)| reason.as_str());
    CaseFailure::new(
        Stage::Attacker,
        ErrorKind::InvalidResponse,
        format!(
            "the attacker declined to attack, and no other strategy is left (tried: {}): {}",
            names.join(", "),
            schema::reply::excerpt(reason)
        ),
    )
}
