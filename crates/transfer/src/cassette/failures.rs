//! The calls of a run that failed for good: no cache has them, the journal does.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::{Mutex, PoisonError},
};

use journal::{Call, CallEnding, CallRole, JournalReader, ReadError, Replay, Scope};
use schema::{CallContext, ItemKey, ModelId, Purpose, without_attempts};

use super::answer::Failure;

/// The failed calls of journals.
#[derive(Debug, Default)]
pub struct FailedCalls(Mutex<BTreeMap<FailedCall, VecDeque<Failure>>>);

/// What is known of a failed call in a journal and in a run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FailedCall {
    item: Option<ItemKey>,
    role: CallRole,
    model: String,
    turn: Option<u32>,
    step: u32,
}

impl FailedCalls {
    /// Adds those of the journal at `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self, path: &Path) -> Result<(), ReadError> {
        let mut replay = Replay::new(JournalReader::open(path)?);
        let calls = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some(replayed) = replay.next_event() {
            let replayed = replayed?;
            let Some(Ok(event)) = &replayed.event else {
                continue;
            };
            let item = match replayed.scope {
                Scope::Item(key, _) | Scope::Closed(key) => Some(key),
                Scope::Run => None,
            };
            let sut = item.as_ref().map_or("", |item| &*item.sut);
            let Some(call) = Call::of(event, sut) else {
                continue;
            };
            if let CallEnding::Failed(exception) = call.ending {
                let text = exception.message.as_ref().and_then(|text| text.as_str());
                let failure = Failure {
                    kind: exception.kind.as_deref().unwrap_or_default().to_owned(),
                    message: without_attempts(text.unwrap_or_default()).to_owned(),
                    attempts: exception.attempts.unwrap_or(1),
                    refused: exception.refused,
                    spend: call.spend.copied().unwrap_or_default(),
                };
                let key = FailedCall {
                    role: call.role,
                    model: call.model.to_owned(),
                    turn: call.turn.filter(|_| has_turn(call.role)),
                    step: call.step.unwrap_or_default(),
                    item,
                };
                calls.entry(key).or_default().push_back(failure);
            }
        }
        Ok(())
    }

    /// The next failure of the model `model` in a call of `context`.
    pub(super) fn take(&self, model: &ModelId, context: &CallContext) -> Option<Failure> {
        let role = match context.purpose {
            Purpose::TargetTurn => CallRole::Sut,
            Purpose::UserTurn => CallRole::User,
            Purpose::ToolAnswer => CallRole::Tool,
            Purpose::Judge => CallRole::Annotator,
            Purpose::UserJudge | Purpose::Realism => CallRole::ConversationJudge,
            Purpose::Probe => CallRole::Probe,
            _ => CallRole::Generator,
        };
        let key = FailedCall {
            item: context.item.as_ref().map(|item| (**item.key()).clone()),
            role,
            model: match role {
                CallRole::Sut => context.item.as_ref()?.key().sut.to_string(),
                _ => model.to_string(),
            },
            turn: Some(context.turn).filter(|turn| has_turn(role) && *turn > 0),
            step: match role {
                CallRole::Sut => context.step,
                _ => 0,
            },
        };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.get_mut(&key)?.pop_front()
    }
}

/// Whether the turn of a call tells it from others of its item.
fn has_turn(role: CallRole) -> bool {
    matches!(role, CallRole::Sut | CallRole::User | CallRole::Tool)
}
