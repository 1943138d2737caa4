//! What all cases of one target share: the target, the scorer, and the reports about each case.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llm_client::Stop;
use schema::{
    Event, EventBody, Item, Journal, ModelError, Phase, PhaseError, Role, Spend, TargetRef, Turn,
    event::{TranslatedSutReply, TranslatedUserResponse},
    safety::{
        Assessment, CallScope, ErrorKind, SafetyScore, SafetyScorer, ScoreRequest, Stage, TestCase,
        Threshold, Verdict, results::MessageScore,
    },
    text::is_blank,
};
use tokio::sync::Semaphore;

use super::{
    attempt::{Attempt, Ended, Outcome, Scored},
    case_log::CaseLog,
    error::{Cut, Fault, Trouble},
    run_log::Tallies,
    target::Target,
};
use crate::{progress, progress::Observer, progress::Progress};

/// What all cases of one target share.
pub(super) struct Ground {
    pub(super) target: TargetRef,
    /// The target itself, with its system prompt.
    pub(super) model: Arc<Target>,
    pub(super) mode: &'static str,
    /// Whether the target replies once to each item.
    pub(super) one_reply: bool,
    pub(super) scorer: Arc<dyn SafetyScorer>,
    pub(super) threshold: Threshold,
    /// The judges that record their calls, by id.
    pub(super) judges: Vec<String>,
    /// Cases at the same time.
    pub(super) at_once: usize,
    /// Messages with the scorer.
    pub(super) judging: Semaphore,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) stop: Stop,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) tallies: Mutex<Tallies>,
}

/// What was said in an attempt, and what the scorer made of it so far.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) turns: Vec<Turn>,
    /// By assistant message, from the first on. Shorter than there are messages where some are still to be scored.
    pub(super) messages: Vec<MessageScore>,
    pub(super) spend: Spend,
    pub(super) stopped_early: bool,
}

/// The result of scoring.
struct Assessed {
    message: MessageScore,
    spend: Spend,
    /// Why there is no score, where a call failed.
    fault: Option<Fault>,
}

impl Ground {
    /// Asks the target for its next message. It enters the talk.
    pub(super) async fn ask(&self, talk: &mut Talk, scope: &CallScope) -> Result<(), Trouble> {
        let reply = match self.model.reply(&talk.turns, scope).await {
            Ok(reply) => reply,
            Err(error) => {
                talk.spend.add(&spent(&error));
                return Err(Trouble::of_phase(Stage::Target, &error));
            }
        };
        talk.spend.add(&reply.spend);
        let nothing = reply.nothing_said();
        self.hear(talk, reply.turn, scope);
        match nothing {
            Some(reason) => Err(nothing_said(reason)),
            None => Ok(()),
        }
    }

    /// A message enters the talk, and the journal.
    pub(super) fn hear(&self, talk: &mut Talk, said: Turn, scope: &CallScope) {
        talk.turns.push(said.clone());
        let turn = exchange(talk.turns.len());
        let body = match said.role {
            Role::Assistant => EventBody::TranslatedSutResponse(TranslatedSutReply {
                tool_calls: None,
                ..TranslatedSutReply::new(&said, turn, 0)
            }),
            _ => EventBody::TranslatedUserResponse(TranslatedUserResponse::new(&said, turn)),
        };
        let event = Event::new(body).by("Ground", "hear");
        if let Some(item) = &scope.item {
            item.record(event);
        }
    }

    /// Scores the assistant messages that have no score yet. Returns the first failed call, where there is one.
    pub(super) async fn score(
        &self,
        talk: &mut Talk,
        case: &TestCase,
        scope: &CallScope,
    ) -> Result<Option<Fault>, Cut> {
        let ends: Vec<usize> = (1..=talk.turns.len())
            .filter(|end| talk.turns.get(end - 1).is_some_and(is_answer))
            .skip(talk.messages.len())
            .collect();
        let asked = ends
            .iter()
            .map(|end| self.score_one(talk.turns.get(..*end).unwrap_or_default(), case, scope));
        let mut fault = None;
        let mut cut = None;
        for assessed in futures::future::join_all(asked).await {
            match assessed {
                Ok(assessed) => {
                    talk.spend.add(&assessed.spend);
                    talk.messages.push(assessed.message);
                    fault = fault.or(assessed.fault);
                }
                Err(why) => cut = cut.or(Some(why)),
            }
        }
        cut.map_or(Ok(fault), Err)
    }

    async fn score_one(
        &self,
        conversation: &[Turn],
        case: &TestCase,
        scope: &CallScope,
    ) -> Result<Assessed, Cut> {
        // The semaphore is never closed.
        let _judging = self.judging.acquire().await;
        let message = u32::try_from(conversation.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let request = ScoreRequest {
            case,
            conversation,
            turn: exchange(conversation.len()),
            scope,
        };
        let (assessment, fault) = match self.scorer.score(&request).await {
            Ok(assessment) => (assessment, None),
            Err(error) => match Trouble::of_phase(Stage::Judge, &error) {
                Trouble::NotRun(cut) => return Err(cut),
                Trouble::Failed(fault) => {
                    let assessment = Assessment {
                        spend: spent(&error),
                        ..Assessment::abstained(fault.message.clone())
                    };
                    (assessment, Some(fault))
                }
            },
        };
        Ok(Assessed {
            spend: assessment.spend,
            message: MessageScore {
                reasoning: conversation.last().and_then(|turn| turn.reasoning.clone()),
                ..MessageScore::new(message, assessment)
            },
            fault,
        })
    }

    /// The outcome of a talk. `trouble` is what ended it before its time, `fault` a call of the scorer that failed.
    pub(super) fn judge(
        &self,
        talk: &Talk,
        trouble: Option<Fault>,
        fault: Option<Fault>,
    ) -> Outcome {
        let scored = |passed, lowest| {
            Outcome::Scored(Scored {
                passed,
                lowest,
                messages: talk.messages.clone(),
                stopped_early: talk.stopped_early,
            })
        };
        match (self.verdict(talk), trouble) {
            // What came after a message below the threshold cannot fix it.
            (Verdict::Failed(lowest), _) => scored(false, lowest),
            (_, Some(trouble)) => Outcome::Error(trouble),
            (Verdict::Passed(lowest), None) => scored(true, lowest),
            (Verdict::Unscored, None) => Outcome::Error(fault.unwrap_or_else(|| unscored(talk))),
        }
    }

    /// The verdict over the messages that were scored.
    pub(super) fn verdict(&self, talk: &Talk) -> Verdict {
        let scores: Vec<Option<SafetyScore>> =
            talk.messages.iter().map(|message| message.score).collect();
        Verdict::of(&scores, self.threshold)
    }

    /// Whether the run is to start nothing new.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Records that an attempt begins.
    pub(super) fn queue(&self, attempt: &Attempt, item: &Item) -> CaseLog {
        let log = CaseLog::queue(item, attempt, self.one_reply, &self.judges, self.threshold);
        self.observer.on(&Progress::RowStarted {
            phase: Phase::Simulate,
            benchmark: self.mode,
            target: Some(&self.target.id),
        });
        log
    }

    /// Counts how an attempt ended, and notifies the observer.
    pub(super) fn ended(&self, ended: &Ended) {
        let outcome = match &ended.outcome {
            Outcome::Scored(_) => progress::Outcome::Done,
            Outcome::Error(_) => progress::Outcome::Failed,
            Outcome::NotRun(_) => progress::Outcome::Skipped,
        };
        let row = Progress::Row {
            phase: Phase::Simulate,
            benchmark: self.mode,
            target: Some(&self.target.id),
            outcome,
        };
        row.trace();
        self.observer.on(&row);
    }

    /// Tells how many attempts there are so far.
    pub(super) fn tell_rows(&self, rows: usize) {
        self.observer.on(&Progress::Rows {
            phase: Phase::Simulate,
            benchmark: self.mode,
            target: Some(&self.target.id),
            rows: rows as u64,
        });
    }

    pub(super) fn tallies(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of an attempt that was never begun.
    pub(super) fn not_begun(&self, attempt: Attempt, cut: Cut) -> Ended {
        let ended = Ended {
            attempt,
            spend: Spend::default(),
            turns: Vec::new(),
            refusals: Vec::new(),
            outcome: Outcome::NotRun(cut),
        };
        self.ended(&ended);
        ended
    }

    /// The end of an attempt whose task panicked.
    pub(super) fn panicked(&self, attempt: Attempt, message: String) -> Ended {
        let ended = Ended {
            attempt,
            spend: Spend::default(),
            turns: Vec::new(),
            refusals: Vec::new(),
            outcome: Outcome::Error(Fault {
                stage: Stage::Other,
                kind: ErrorKind::Unknown,
                message,
            }),
        };
        self.ended(&ended);
        ended
    }
}

/// Whether it is a message that can be scored.
fn is_answer(turn: &Turn) -> bool {
    turn.role == Role::Assistant && !is_blank(&turn.content)
}

/// An empty reply of the target.
pub(super) fn nothing_said(reason: String) -> Trouble {
    Trouble::of(Stage::Target, ErrorKind::InvalidResponse, reason)
}

/// What a call used that failed for good.
pub(super) fn spent(error: &PhaseError) -> Spend {
    let call = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    call.map_or_else(Spend::default, |call: &ModelError| *call.spend())
}

/// Which exchange a conversation of so many messages is in, from 1.
fn exchange(messages: usize) -> u32 {
    u32::try_from(messages.div_ceil(2)).unwrap_or(u32::MAX)
}

/// Why there is no verdict though no call failed.
fn unscored(talk: &Talk) -> Fault {
    let reason = talk
        .messages
        .iter()
        .find(|message| message.score.is_none())
        .map_or("there is no message to score", |message| &message.rationale);
    Fault {
        stage: Stage::Judge,
        kind: ErrorKind::InvalidResponse,
        message: format!("no usable score: {reason}"),
    }
}
