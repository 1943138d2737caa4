//! Rows that run elsewhere: what a runner gets, and what it returns.
//!
//! A run with a [`Runner`] makes the same items in the same order as one without. The first call of an item that the cache does not answer
//! sends the whole item to the runner, as a [`Unit`]. The same phases play it there ([`play_unit`]), and its calls come back, with
//! which the item goes on here: journal, cache, meter, files and stop are those of the run, as ever. A unit that is run again, by whom ever,
//! begins with the replies that are known, so that a finished call is paid once.

mod play;
mod route;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use llm_client::{CacheKey, CallEnd, StoredReply};
use schema::{Scenario, TargetRef};
use serde::{Deserialize, Serialize};

use crate::phases::BenchmarkContext;

pub use play::{UnitReplies, play_unit, playing_session};
pub(crate) use route::{UnitRoute, UnitState};

/// A row that may run elsewhere: one sample of one scenario with one target.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The benchmark that it belongs to.
    pub benchmark: Arc<BenchmarkContext>,
    /// The system under test.
    pub target: TargetRef,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// Which of its samples, from 0.
    pub sample: u32,
    /// Whether the conversation is judged.
    pub is_judged: bool,
}

impl Unit {
    /// Its name, which no other unit of the benchmark has: the id of its conversation.
    #[must_use]
    pub fn name(&self) -> String {
        schema::Conversation::make_id(&self.scenario.id, &self.target.id, self.sample)
    }
}

/// How a unit ended elsewhere: every call that was made, and the events of the layers that only the one who makes calls has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct UnitEnd {
    /// The calls, in the order in which they ended. Those that were answered from known replies are not among them.
    pub calls: Vec<CallEnd>,
    /// Failed attempts, retries, and changes of a request's form.
    pub events: Vec<UnitEvent>,
    /// Whether the unit was stopped before it ended.
    pub is_stopped: bool,
}

/// An event of a unit: a line of the journal, without its time and its item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnitEvent {
    /// The message of the event.
    pub message: String,
    /// The fields of the event, as JSON.
    pub fields: String,
}

/// Runs units elsewhere: in other processes, on other machines. An extension point; pass it to
/// [`Session::with_runner`](crate::Session::with_runner). The example `runner` is one.
#[async_trait]
pub trait Runner: fmt::Debug + Send + Sync {
    /// Runs `unit`. `known` are the replies that the run has for it: they are not called for again. What the run learns while the future
    /// waits stays valid when it is dropped: the unit may then be run again.
    ///
    /// # Errors
    /// When the unit did not run.
    async fn run(&self, unit: &Unit, known: Vec<CallEnd>) -> Result<UnitEnd, RunnerError>;

    /// The unit of this name has ended: its replies are stored, and nothing that is kept for it is needed any more.
    fn ended(&self, unit: &Unit);
}

/// Why a unit did not run elsewhere.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The run is stopping. The next run finishes the row.
    #[error("the run is stopping")]
    Stopped,
    /// The row fails, for this reason.
    #[error("{0}")]
    Failed(String),
}

/// Keeps the replies of units while they are in flight, so that a unit that is run again elsewhere goes on where it was.
#[async_trait]
pub trait ReplyKeeper: fmt::Debug + Send + Sync {
    /// Keeps `reply` under `key`, before the phase that asked gets it.
    async fn keep(&self, key: CacheKey, reply: &StoredReply);
}

/// Keeps nothing: a unit that is run again begins with the replies that its run has.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepsNothing;

#[async_trait]
impl ReplyKeeper for KeepsNothing {
    async fn keep(&self, _key: CacheKey, _reply: &StoredReply) {}
}
