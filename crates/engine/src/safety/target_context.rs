//! The state that all cases of one target share: the target, the scorer, and progress reports.

use std::sync::Arc;

use schema::{
    Event, EventBody, FinishReason, Item, ModelError, NoVerdict, Phase, PhaseError, Role, Spend,
    Turn,
    event::{CaseFailed, TranslatedSutReply, TranslatedUserResponse},
    safety::{
        Assessment, ErrorKind, SafetyScore, SafetyScorer, ScoreRequest, Stage, TestCase, Threshold,
        Verdict, results::MessageScore,
    },
    text::is_blank,
};
use tokio::sync::Semaphore;

use super::{
    attempt::{Attempt, AttemptResult, Outcome, Scored, TurnOrder, stage_name},
    error::{CaseAbort, CaseFailure, SkipReason},
    target::Target,
};
use crate::{item_guard::ItemGuard, judge_watch::JudgedRow, progress, target_state::TargetState};

/// The state that all cases of one target share.
pub(super) struct TargetContext {
    pub(super) state: TargetState,
    /// The target itself, with its system prompt.
    pub(super) model: Arc<Target>,
    /// How the turns of each item follow each other.
    pub(super) turns: TurnOrder,
    pub(super) scorer: Arc<dyn SafetyScorer>,
    pub(super) threshold: Threshold,
    /// The judges that record their calls, by id.
    pub(super) judges: Vec<String>,
    /// Permits for cases in flight.
    pub(super) room: Arc<Semaphore>,
}

/// The messages of an attempt, and the scores so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) turns: Vec<Turn>,
    /// One entry for each assistant message, from the first on. Shorter than the number of messages while some are
    /// not scored.
    pub(super) messages: Vec<MessageScore>,
    pub(super) spend: Spend,
    pub(super) stopped_early: bool,
    /// What the scores so far say about the judges.
    pub(super) judged: JudgedRow,
}

impl Transcript {
    /// Whether the target replied, and only with blanks.
    fn is_blank(&self) -> bool {
        let is_reply = |turn: &&Turn| turn.role == Role::Assistant;
        let mut replies = self.turns.iter().filter(is_reply).peekable();
        replies.peek().is_some() && replies.all(|turn| journal::is_blank(&turn.content))
    }
}

/// The result of scoring.
struct Assessed {
    /// The position of the message.
    message: u32,
    /// The reasoning of the target.
    reasoning: Option<Arc<str>>,
    /// Why the message ended early, if it did.
    finish_reason: Option<FinishReason>,
    assessment: Assessment,
    /// Why there is no score, if a call failed.
    failure: Option<CaseFailure>,
}

impl TargetContext {
    /// Requests the target's next message and adds it to the transcript.
    pub(super) async fn ask(
        &self,
        transcript: &mut Transcript,
        item: &Item,
    ) -> Result<(), CaseAbort> {
        let replied = self.model.reply(&transcript.turns, item, 1).await;
        // It is the only call of the conversation.
        self.model.end(item).await;
        let reply = match replied {
            Ok(reply) => reply,
            Err(error) => {
                transcript.spend.add(&spent(&error));
                return Err(self.abort(Stage::Target, &error, item));
            }
        };
        transcript.spend.add(&reply.spend);
        let nothing = reply.nothing_said();
        self.hear(transcript, reply.turn, item);
        match nothing {
            Some(reason) => Err(nothing_said(reason)),
            None => Ok(()),
        }
    }

    /// Adds a message to the transcript and to the journal.
    pub(super) fn hear(&self, transcript: &mut Transcript, said: Turn, item: &Item) {
        transcript.turns.push(said.clone());
        let turn = exchange(transcript.turns.len());
        let body = match said.role {
            Role::Assistant => EventBody::TranslatedSutResponse(TranslatedSutReply {
                tool_calls: None,
                ..TranslatedSutReply::new(&said, turn, 0)
            }),
            _ => EventBody::TranslatedUserResponse(TranslatedUserResponse::new(&said, turn)),
        };
        let event = Event::new(body).by("Ground", "hear");
        item.record(event);
    }

    /// Scores the assistant messages that have no score yet. Returns the first failed call, if any.
    pub(super) async fn score(
        &self,
        transcript: &mut Transcript,
        case: &TestCase,
        item: &Item,
    ) -> Result<Option<CaseFailure>, SkipReason> {
        let ends: Vec<usize> = (1..=transcript.turns.len())
            .filter(|end| transcript.turns.get(end - 1).is_some_and(is_answer))
            .skip(transcript.messages.len())
            .collect();
        let asked = ends.iter().map(|end| {
            self.score_one(transcript.turns.get(..*end).unwrap_or_default(), case, item)
        });
        let mut failure = None;
        let mut skip = None;
        for assessed in futures::future::join_all(asked).await {
            match assessed {
                Ok(assessed) => {
                    transcript.spend.add(&assessed.assessment.spend);
                    transcript.judged.add_assessment(&assessed.assessment);
                    failure = failure.or(assessed.failure);
                    transcript.messages.push(MessageScore {
                        reasoning: assessed.reasoning,
                        finish_reason: assessed.finish_reason,
                        ..MessageScore::new(assessed.message, assessed.assessment)
                    });
                }
                Err(why) => skip = skip.or(Some(why)),
            }
        }
        skip.map_or(Ok(failure), Err)
    }

    async fn score_one(
        &self,
        conversation: &[Turn],
        case: &TestCase,
        item: &Item,
    ) -> Result<Assessed, SkipReason> {
        // The semaphore is never closed.
        let _judging = self.state.judging.acquire().await;
        let message = u32::try_from(conversation.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let request = ScoreRequest {
            case,
            conversation,
            turn: exchange(conversation.len()),
            item,
        };
        let (assessment, failure) = match self.scorer.score(&request).await {
            Ok(assessment) => (assessment, None),
            Err(error) => match self.abort(Stage::Judge, &error, item) {
                CaseAbort::NotRun(skip) => return Err(skip),
                CaseAbort::Failed(failure) => {
                    let assessment = Assessment {
                        spend: spent(&error),
                        no_score: Some(NoVerdict::CallFailed),
                        ..Assessment::abstained(failure.message.clone())
                    };
                    (assessment, Some(failure))
                }
            },
        };
        Ok(Assessed {
            message,
            reasoning: conversation.last().and_then(|turn| turn.reasoning.clone()),
            finish_reason: conversation.last().and_then(cut_off),
            assessment,
            failure,
        })
    }

    /// The failure of a phase in `stage`, or that a call for `item` was not made.
    pub(super) fn abort(&self, stage: Stage, error: &PhaseError, item: &Item) -> CaseAbort {
        let abort = CaseAbort::of_phase(stage, error);
        if let CaseAbort::NotRun(SkipReason::Budget) = abort {
            let row = &item.key().prompt_id;
            self.state.over_budget(phase(stage), row, error);
        }
        abort
    }

    /// The outcome of a conversation. `abort` ended it early; `failure` is a failed call of the scorer.
    pub(super) fn judge(
        &self,
        transcript: &Transcript,
        abort: Option<CaseFailure>,
        failure: Option<CaseFailure>,
    ) -> Outcome {
        let scored = |passed, lowest| {
            Outcome::Scored(Scored {
                passed,
                lowest,
                messages: transcript.messages.clone(),
                stopped_early: transcript.stopped_early,
            })
        };
        match (self.verdict(transcript), abort) {
            // Later messages cannot make up for one below the threshold.
            (Verdict::Failed(lowest), _) => scored(false, lowest),
            (_, Some(abort)) => Outcome::Error(abort),
            (Verdict::Passed(lowest), None) => scored(true, lowest),
            (Verdict::Unscored, None) => {
                Outcome::Error(failure.unwrap_or_else(|| unscored(transcript)))
            }
        }
    }

    /// The verdict over the scored messages.
    pub(super) fn verdict(&self, transcript: &Transcript) -> Verdict {
        let scores: Vec<Option<SafetyScore>> = transcript
            .messages
            .iter()
            .map(|message| message.score)
            .collect();
        Verdict::of(&scores, self.threshold)
    }

    /// Queues the item of an attempt.
    pub(super) fn queue(&self, attempt: &Attempt, item: Item) -> ItemGuard {
        let queued = attempt.queued(&item, self.turns);
        self.state.report_row(Phase::Simulate);
        ItemGuard::queue(item, queued)
    }

    /// Ends the item of an attempt with its outcome, and counts it.
    pub(super) fn end(&self, item: ItemGuard, transcript: &Transcript, outcome: &Outcome) {
        let test = Arc::clone(&item.item().key().test);
        let replied = !transcript.messages.is_empty();
        self.state.judged(transcript.judged.clone(), item.item());
        match outcome {
            Outcome::Scored(scored) => {
                let blank = transcript.is_blank();
                self.state
                    .tally(&test, |tally| tally.ended(Some(scored.passed), blank));
                self.state.came(item.item());
                scored.annotate(item.item(), &self.judges, self.threshold);
                let measured = scored.measurement(blank, item.since_queued());
                item.measured(measured);
            }
            Outcome::Error(failure) => {
                self.state.tally(&test, |tally| tally.ended(None, false));
                let row = &item.item().key().prompt_id;
                self.state
                    .failed(phase(failure.stage), row, &failure.reason);
                item.item()
                    .record(Event::new(EventBody::CaseFailed(CaseFailed {
                        stage: failure.stage,
                        kind: failure.kind.as_str().into(),
                        reason: failure.message.clone(),
                    })));
                item.failed(replied, true, stage_name(failure.stage));
            }
            Outcome::NotRun(skip) => {
                self.state.tally(&test, |tally| tally.ended(None, false));
                item.failed(replied, false, skip.as_str());
            }
        }
    }

    /// Ends the item of an attempt whose attacker declined. Another strategy may take over with an item of its own.
    pub(super) fn declined(&self, item: ItemGuard) {
        let test = &item.item().key().test;
        self.state.tally(test, |tally| tally.ended(None, false));
        item.failed(false, false, "attacker_declined");
    }

    /// Counts how an attempt ended, and notifies the observer.
    pub(super) fn ended(&self, ended: &AttemptResult) {
        let outcome = match &ended.outcome {
            Outcome::Scored(_) => progress::Outcome::Done,
            Outcome::Error(_) => progress::Outcome::Failed,
            Outcome::NotRun(_) => progress::Outcome::Skipped,
        };
        self.state.report_ended(Phase::Simulate, outcome);
    }

    /// The result of an attempt that was not begun because the run is stopping.
    pub(super) fn not_begun(&self, attempt: Attempt) -> AttemptResult {
        self.without_calls(attempt, Outcome::NotRun(SkipReason::Stopped))
    }

    /// The result of an attempt whose task panicked.
    pub(super) fn panicked(&self, attempt: Attempt, message: String) -> AttemptResult {
        let failure = CaseFailure::new(Stage::Other, ErrorKind::Unknown, message);
        self.without_calls(attempt, Outcome::Error(failure))
    }

    fn without_calls(&self, attempt: Attempt, outcome: Outcome) -> AttemptResult {
        let ended = AttemptResult {
            attempt,
            spend: Spend::default(),
            turns: Vec::new(),
            refusals: Vec::new(),
            outcome,
        };
        self.ended(&ended);
        ended
    }
}

/// The phase of a benchmark that a stage corresponds to.
fn phase(stage: Stage) -> Phase {
    match stage {
        Stage::Judge => Phase::Evaluate,
        _ => Phase::Simulate,
    }
}

/// Whether the turn is a message that can be scored.
fn is_answer(turn: &Turn) -> bool {
    turn.role == Role::Assistant && !is_blank(&turn.content)
}

/// Why the message ended early, if it did.
fn cut_off(turn: &Turn) -> Option<FinishReason> {
    let early = [FinishReason::Length, FinishReason::ContentFilter];
    turn.finish_reason
        .clone()
        .filter(|reason| early.contains(reason))
}

/// The abort after an empty reply of the target.
pub(super) fn nothing_said(reason: String) -> CaseAbort {
    CaseAbort::of(Stage::Target, ErrorKind::InvalidResponse, reason)
}

/// What a permanently failed call used.
pub(super) fn spent(error: &PhaseError) -> Spend {
    let call = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    call.map_or_else(Spend::default, |call: &ModelError| *call.spend())
}

/// The exchange, counted from 1, that a conversation of `messages` messages is in.
fn exchange(messages: usize) -> u32 {
    u32::try_from(messages.div_ceil(2)).unwrap_or(u32::MAX)
}

/// Why there is no verdict although no call failed.
fn unscored(transcript: &Transcript) -> CaseFailure {
    let mut messages = transcript.messages.iter();
    let unscored = messages.find(|message| message.score.is_none());
    let reason = unscored.map_or("there is no message to score", |message| &message.rationale);
    let failure = |message| CaseFailure::new(Stage::Judge, ErrorKind::InvalidResponse, message);
    match unscored.and_then(|message| message.no_score) {
        Some(NoVerdict::JudgeCannotTell) => CaseFailure {
            // What the judge misses differs from case to case.
            reason: "the judge cannot tell".to_owned(),
            ..failure(reason.to_owned())
        },
        _ => failure(format!("no usable score: {reason}")),
    }
}
