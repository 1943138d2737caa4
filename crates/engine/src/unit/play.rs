//! The side of the one who runs units: plays them, and notes every call.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use llm_client::{CacheKey, CallEnd, CallRoute, ModelFactory, RoutedCall, StoredReply};
use schema::{
    Attached, ChatReply, Event, EventKind, Item, Journal, ModelError, ModelErrorKind, PhaseError,
    PhaseErrorKind,
};

use super::{ReplyKeeper, Unit, UnitEnd, UnitEvent};
use crate::{Phases, Session};
use store::RunError;

/// A session of one who runs units: its models, which `factory` builds, note what they are called for.
#[must_use]
pub fn playing_session(factory: ModelFactory) -> Session {
    Session::new(factory.with_route(Arc::new(NotedCalls)))
}

/// The replies that are known for a unit, and where new ones are kept.
#[derive(Debug)]
pub struct UnitReplies {
    /// The known replies.
    pub known: Vec<CallEnd>,
    /// Keeps new ones.
    pub keeper: Arc<dyn ReplyKeeper>,
}

/// Plays `unit` with `phases`, whose models belong to a [`playing_session`], and returns the calls that were made for it. Nothing is written.
///
/// # Errors
/// When a phase cannot be created for the benchmark of the unit.
pub async fn play_unit(
    phases: &Phases,
    unit: &Unit,
    replies: UnitReplies,
) -> Result<UnitEnd, RunError> {
    let simulator = (phases.simulator)(&unit.benchmark, &unit.target)?;
    let evaluator = match unit.is_judged {
        true => Some((phases.evaluator)(&unit.benchmark)?),
        false => None,
    };
    let noted = Arc::new(UnitNotes::new(replies));
    let item = Item::new(
        &unit.scenario,
        &unit.target.id,
        unit.sample,
        Arc::new(Events(Arc::clone(&noted))),
    )
    .attach(Arc::clone(&noted) as _);
    let error = match simulator.simulate(&unit.scenario, &item).await {
        Ok(conversation) => match evaluator {
            Some(evaluator) if crate::benchmark::is_judged(&conversation) => {
                evaluator.evaluate(&conversation, &item).await.err()
            }
            _ => None,
        },
        Err(error) => Some(error),
    };
    let is_stopped = |error: &PhaseError| error.kind() == PhaseErrorKind::Cancelled;
    let mut end = std::mem::take(&mut noted.notes().end);
    end.is_stopped |= error.as_ref().is_some_and(is_stopped);
    Ok(end)
}

/// What is known and noted of a unit. It is attached to its item.
#[derive(Debug)]
struct UnitNotes {
    keeper: Arc<dyn ReplyKeeper>,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    known: HashMap<CacheKey, StoredReply>,
    end: UnitEnd,
}

impl UnitNotes {
    fn new(replies: UnitReplies) -> Self {
        let stored = |end: CallEnd| Some((end.key()?, end.reply()?.clone()));
        Self {
            keeper: replies.keeper,
            notes: Mutex::new(Notes {
                known: replies.known.into_iter().filter_map(stored).collect(),
                end: UnitEnd::default(),
            }),
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached for UnitNotes {
    fn reply_found(&self, _key: &[u8; 32]) {}
}

/// The layer around the models of units: answers from what is known, and notes each call that is made.
#[derive(Debug)]
struct NotedCalls;

#[async_trait]
impl CallRoute for NotedCalls {
    async fn call(&self, call: RoutedCall<'_>) -> Result<ChatReply, ModelError> {
        let Some(unit) = call.item().attached::<UnitNotes>() else {
            return call.here().await;
        };
        let known = unit.notes().known.get(&call.key()).cloned();
        if let Some(reply) = known.and_then(|known| call.reply(known)) {
            return Ok(reply);
        }
        let result = call.here().await;
        let end = CallEnd::of(&call, &result);
        if let Some(reply) = end.reply() {
            unit.keeper.keep(call.key(), reply).await;
        }
        let mut notes = unit.notes();
        if let Some(reply) = end.reply() {
            notes.known.insert(call.key(), reply.clone());
        }
        match &result {
            // It was not made, so that it has no end.
            Err(error) if error.kind() == ModelErrorKind::Cancelled => notes.end.is_stopped = true,
            _ => notes.end.calls.push(end),
        }
        result
    }

    fn is_elsewhere(&self) -> bool {
        false
    }
}

/// Notes the events that the run cannot make itself from the calls.
struct Events(Arc<UnitNotes>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

impl Journal for Events {
    fn record(&self, event: Event) {
        let is_noted = matches!(
            event.body.kind(),
            EventKind::ModelCallFailed | EventKind::RetryingCall | EventKind::RequestFormChanged
        );
        if !is_noted {
            return;
        }
        if let Ok(fields) = serde_json::to_string(&event.body) {
            self.0.notes().end.events.push(UnitEvent {
                message: event.message().to_owned(),
                fields,
            });
        }
    }
}
