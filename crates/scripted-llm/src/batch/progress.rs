//! A batch and its course: its items are answered whenever somebody looks at it, as far as its time has come.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::StatusCode;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::script::{ActiveScript, BatchEnd};
use crate::{
    fault_board::unit,
    fault_reply::{self, Played},
    handler,
    hash::{mix, text_seed},
    interface::Interface,
    server::Shared,
};

/// How long a cancelled batch is in the state of being cancelled, at most.
const LONGEST_CANCELLING: Duration = Duration::from_millis(100);
/// After this many items other requests get their turn.
const ITEMS_AT_ONCE: usize = 64;

/// A batch.
pub(crate) struct Batch {
    active: Arc<ActiveScript>,
    pub(crate) interface: Interface,
    pub(crate) items: Vec<Item>,
    /// Why the input is not valid. Such a batch fails.
    pub(crate) errors: Vec<InputError>,
    pub(crate) state: State,
    started: Instant,
    cancel_asked: Option<Instant>,
    pub(crate) times: Times,
    pub(crate) about: About,
}

/// What only the batches of one interface have.
pub(crate) enum About {
    OpenAi {
        input_file: String,
        endpoint: String,
        metadata: serde_json::Value,
        output_file: Option<String>,
        error_file: Option<String>,
    },
    Anthropic {
        /// The bytes that are held: of the requests, and at the end of the results.
        bytes: usize,
        results: Bytes,
    },
}

/// When a batch came into its states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) created: Timestamp,
    pub(crate) in_progress: Option<Timestamp>,
    pub(crate) finalizing: Option<Timestamp>,
    pub(crate) cancelling: Option<Timestamp>,
    pub(crate) ended: Option<Timestamp>,
}

/// The state of a batch, by OpenAI's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Validating,
    Failed,
    InProgress,
    Finalizing,
    Completed,
    Expired,
    Cancelling,
    Cancelled,
}

/// What is wrong with the input.
#[derive(Debug)]
pub(crate) struct InputError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) param: Option<&'static str>,
    /// From 1.
    pub(crate) line: Option<usize>,
}

/// A request of a batch.
pub(crate) struct Item {
    pub(crate) custom_id: String,
    /// As the direct call would send it. Empty when the batch has ended.
    pub(crate) body: Bytes,
    pub(crate) outcome: Option<Outcome>,
}

/// The end of an item.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// A reply of any status, in the form of the batch's interface.
    Reply(StatusCode, Bytes),
    /// The call to the model was never answered.
    TimedOut,
    Expired,
    Cancelled,
}

impl State {
    pub(crate) fn is_end(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Completed | Self::Expired | Self::Cancelled
        )
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Failed => "failed",
            Self::InProgress => "in_progress",
            Self::Finalizing => "finalizing",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Item {
    pub(crate) fn new(custom_id: String, body: Bytes) -> Self {
        Self {
            custom_id,
            body,
            outcome: None,
        }
    }
}

impl Batch {
    pub(crate) fn new(
        active: Arc<ActiveScript>,
        interface: Interface,
        items: Vec<Item>,
        about: About,
    ) -> Self {
        Self {
            active,
            interface,
            items,
            errors: Vec::new(),
            state: State::Validating,
            started: Instant::now(),
            cancel_asked: None,
            times: Times {
                created: Timestamp::now(),
                in_progress: None,
                finalizing: None,
                cancelling: None,
                ended: None,
            },
            about,
        }
    }

    /// Counts the batch and its items as received.
    pub(crate) fn count(&self, shared: &Shared) {
        shared.counts.batch(self.items.len());
        if shared.counts.records_bodies() {
            for item in &self.items {
                let hash = Sha256::digest(&item.body).into();
                shared
                    .counts
                    .batched
                    .body(hash, |count| count.received += 1);
            }
        }
    }

    /// Asks for the batch to be cancelled. False when it has ended.
    pub(crate) fn cancel(&mut self) -> bool {
        if !self.state.is_end() && self.cancel_asked.is_none() {
            self.cancel_asked = Some(Instant::now());
            self.times.cancelling = Some(Timestamp::now());
            self.state = State::Cancelling;
        }
        !self.state.is_end()
    }

    /// Answers the items whose time has come, and moves the batch to its present state. `is_finished`: its whole time has passed.
    /// True when it ended just now.
    pub(crate) async fn advance(&mut self, shared: &Shared, is_finished: bool) -> bool {
        if self.state.is_end() {
            return false;
        }
        let until = self.cancel_asked.unwrap_or_else(Instant::now);
        let passed = self.passed(until, is_finished && self.cancel_asked.is_none());
        let end = match (self.active.script.end, is_finished) {
            (BatchEnd::Stalled { .. }, true) => BatchEnd::Completed,
            (end, _) => end,
        };
        if passed >= 0.1 && self.is_invalid(end) {
            self.end(State::Failed);
            return true;
        }
        if passed >= 0.1 {
            self.times.in_progress.get_or_insert_with(Timestamp::now);
            self.answer_until(shared, self.due(passed, end)).await;
        }
        if let Some(asked) = self.cancel_asked {
            let cancelling = (self.active.script.duration / 10).min(LONGEST_CANCELLING);
            if asked.elapsed() >= cancelling || is_finished {
                self.close(Outcome::Cancelled);
                self.end(State::Cancelled);
            }
        } else {
            self.move_on(passed, end);
        }
        self.state.is_end()
    }

    /// Moves a batch that nobody cancels to the state that it has when this share of its time has passed.
    fn move_on(&mut self, passed: f64, end: BatchEnd) {
        if passed >= 0.1 {
            self.state = State::InProgress;
        }
        if matches!(end, BatchEnd::Stalled { .. }) {
            return;
        }
        if passed >= 0.9 {
            self.times.finalizing.get_or_insert_with(Timestamp::now);
            self.state = State::Finalizing;
        }
        if passed < 1.0 {
            return;
        }
        match end {
            BatchEnd::Expired { .. } => {
                self.close(Outcome::Expired);
                self.end(State::Expired);
            }
            BatchEnd::Cancelled { .. } => {
                self.times.cancelling.get_or_insert_with(Timestamp::now);
                self.close(Outcome::Cancelled);
                self.end(State::Cancelled);
            }
            _ => self.end(State::Completed),
        }
    }

    /// The share of the batch's time that had passed `until` then, from 0 to 1.
    fn passed(&self, until: Instant, is_finished: bool) -> f64 {
        let duration = self.active.script.duration;
        if is_finished || duration.is_zero() {
            return 1.0;
        }
        let age = until.saturating_duration_since(self.started);
        (age.as_secs_f64() / duration.as_secs_f64()).min(1.0)
    }

    fn is_invalid(&self, end: BatchEnd) -> bool {
        !self.errors.is_empty() || (end == BatchEnd::Failed && self.cancel_asked.is_none())
    }

    /// The number of items that are answered when this share of the time has passed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share from 0 to 1 of a number of items, far below 2^53"
    )]
    fn due(&self, passed: f64, end: BatchEnd) -> usize {
        let share = ((passed - 0.1) / 0.8).clamp(0.0, 1.0);
        let due = (self.items.len() as f64 * share) as usize;
        match end {
            BatchEnd::Expired { after }
            | BatchEnd::Cancelled { after }
            | BatchEnd::Stalled { after } => due.min(after),
            _ => due,
        }
    }

    /// Answers the first `due` items.
    async fn answer_until(&mut self, shared: &Shared, due: usize) {
        let open = self.items.iter_mut().take(due);
        for (done, item) in open.filter(|item| item.outcome.is_none()).enumerate() {
            if done % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            item.outcome = Some(outcome(shared, &self.active, item, self.interface));
        }
    }

    /// Gives every open item this outcome.
    fn close(&mut self, outcome: Outcome) {
        let open = self.items.iter_mut().filter(|item| item.outcome.is_none());
        open.for_each(|item| item.outcome = Some(outcome.clone()));
    }

    /// Ends the batch. Requests are no longer needed.
    fn end(&mut self, state: State) {
        self.state = state;
        self.times.ended = Some(Timestamp::now());
        self.items
            .iter_mut()
            .for_each(|item| item.body = Bytes::new());
    }

    /// The items that the outputs have lines of, in the order of these lines. Some may come twice.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Item> {
        let script = &self.active.script;
        let mut order: Vec<usize> = (script.missing..self.items.len()).collect();
        if script.reversed {
            order.reverse();
        }
        let again: Vec<usize> = order.iter().copied().take(script.duplicated).collect();
        order
            .into_iter()
            .chain(again)
            .filter_map(|place| self.items.get(place))
    }

    /// Empties the batch of what its outputs hold.
    pub(crate) fn forget_replies(&mut self) {
        for item in &mut self.items {
            if let Some(Outcome::Reply(_, body)) = &mut item.outcome {
                *body = Bytes::new();
            }
        }
    }
}

/// Answers an item as the direct call would be answered.
fn outcome(shared: &Shared, active: &ActiveScript, item: &Item, interface: Interface) -> Outcome {
    let counts = &shared.counts.batched;
    let fails = active.script.failing.filter(|failing| {
        // Mixed with a number of its own, so that the choice has nothing to do with others by the same hash.
        unit(mix(text_seed(&item.custom_id) ^ 0xba7c)) < failing.share
    });
    let reply = if let Some(failing) = fails {
        counts.fault();
        let status =
            StatusCode::from_u16(failing.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        fault_reply::status_error(status).reply()
    } else {
        match handler::answer(shared, counts, &item.body, interface) {
            Ok(due) => match due.played {
                Played::Regular(reply) => {
                    shared.counts.item_answered();
                    if shared.counts.records_bodies() {
                        let hash = Sha256::digest(&item.body).into();
                        counts.body(hash, |count| count.answered += 1);
                    }
                    reply
                }
                Played::Faulty(reply) if reply.cut => return Outcome::TimedOut,
                Played::Faulty(reply) => reply,
                Played::Silence => return Outcome::TimedOut,
            },
            Err(error) => error.reply(),
        }
    };
    let reply = interface.to_own(reply);
    Outcome::Reply(reply.status, reply.body)
}
