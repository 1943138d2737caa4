//! The server's counts.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use serde::{Deserialize, Serialize};

use crate::{Role, Task};

/// The server's own counts since its start, which `GET /stats` returns as JSON.
///
/// Only direct calls of models are counted as requests; `GET /stats`, `GET /v1/models` and all about batches are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Connections accepted, including those that only requested the stats.
    pub connections: u64,
    /// Connections that carried at least one chat request.
    pub chat_connections: u64,
    /// Chat requests received, including refused ones.
    pub requests: u64,
    /// Replies of any status whose last byte was passed to the socket.
    pub completed: u64,
    /// Regular replies among [`Stats::completed`], without faults and refusals.
    pub answered: u64,
    /// Calls with a fault, or refused by the limit.
    pub faults: u64,
    /// Chat requests that are currently being served, including held ones.
    pub in_flight: u64,
    /// The largest number of chat requests that were being served at the same time.
    pub max_in_flight: u64,
    /// Chat requests by requested model; unknown models under `other`. Models without a request are left out.
    pub by_model: BTreeMap<String, u64>,
    /// Chat requests by task, named as in [`Task::as_str`]. Requests that could not be parsed are left out.
    pub by_task: BTreeMap<String, u64>,
    /// The number of requests with each body, by the body's SHA-256 in hexadecimal. Empty unless
    /// [`Builder::record_bodies`](crate::Builder::record_bodies) is on.
    pub bodies: BTreeMap<String, BodyCount>,
    /// Batches and their items, which no other count but the connections includes.
    #[serde(default)]
    pub batches: BatchStats,
}

/// The counts of batches and of their items. Items are answered when a client looks at their batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchStats {
    /// Batches created, including those whose input is not valid.
    pub created: u64,
    /// Items of these batches; none of those whose input is not valid.
    pub items: u64,
    /// Items with a regular reply, without faults and refusals.
    pub answered: u64,
    /// Items with a fault.
    pub faults: u64,
    /// Requests for a batch or the list of batches.
    pub polls: u64,
    /// Requests about files and batches that a fault refused.
    pub refused: u64,
    /// As [`Stats::by_model`], of items that a model was called for.
    pub by_model: BTreeMap<String, u64>,
    /// As [`Stats::by_task`], of items that a model was called for.
    pub by_task: BTreeMap<String, u64>,
    /// As [`Stats::bodies`], of items: received with their batch, answered with a regular reply.
    pub bodies: BTreeMap<String, BodyCount>,
}

/// The number of requests with one body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyCount {
    /// Requests received with this body.
    pub received: u64,
    /// Requests with a regular reply whose last byte was passed to the socket.
    pub answered: u64,
}

/// The SHA-256 of a request body.
pub(crate) type BodyHash = [u8; 32];

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    connections: AtomicU64,
    chat_connections: AtomicU64,
    requests: AtomicU64,
    completed: AtomicU64,
    answered: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
    pub(crate) direct: CallCounts,
    batches_created: AtomicU64,
    items: AtomicU64,
    items_answered: AtomicU64,
    batch_polls: AtomicU64,
    batch_refusals: AtomicU64,
    pub(crate) batched: CallCounts,
    record_bodies: AtomicBool,
    /// Held for reading while a reply is written and counted, so that a snapshot includes everything that a client has
    /// read.
    writing: RwLock<()>,
}

/// The counts of direct calls, or those of items of batches.
#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    faults: AtomicU64,
    by_role: [AtomicU64; Role::ALL.len() + 1],
    by_task: [AtomicU64; Task::ALL.len()],
    bodies: Mutex<BTreeMap<BodyHash, BodyCount>>,
}

impl CallCounts {
    pub(crate) fn model(&self, role: Option<Role>) {
        let place = role.map_or(Role::ALL.len(), |role| role as usize);
        if let Some(count) = self.by_role.get(place) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn task(&self, task: Task) {
        if let Some(count) = self.by_task.get(task as usize) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn fault(&self) {
        self.faults.fetch_add(1, Relaxed);
    }

    pub(crate) fn body(&self, hash: BodyHash, count: impl FnOnce(&mut BodyCount)) {
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        count(bodies.entry(hash).or_default());
    }

    fn models(&self) -> BTreeMap<String, u64> {
        let models = Role::ALL.iter().map(|role| role.model()).chain(["other"]);
        named(models, &self.by_role)
    }

    fn tasks(&self) -> BTreeMap<String, u64> {
        named(Task::ALL.iter().map(|task| task.as_str()), &self.by_task)
    }

    fn body_counts(&self) -> BTreeMap<String, BodyCount> {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = bodies.iter().map(|(hash, count)| (hex(hash), *count));
        counts.collect()
    }
}

impl Counts {
    pub(crate) fn new(record_bodies: bool) -> Self {
        Self {
            record_bodies: AtomicBool::new(record_bodies),
            ..Self::default()
        }
    }

    pub(crate) fn connection(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    /// Counts a batch that was created.
    pub(crate) fn batch(&self, items: usize) {
        self.batches_created.fetch_add(1, Relaxed);
        self.items.fetch_add(items as u64, Relaxed);
    }

    pub(crate) fn item_answered(&self) {
        self.items_answered.fetch_add(1, Relaxed);
    }

    pub(crate) fn batch_poll(&self) {
        self.batch_polls.fetch_add(1, Relaxed);
    }

    pub(crate) fn batch_refusal(&self) {
        self.batch_refusals.fetch_add(1, Relaxed);
    }

    pub(crate) fn records_bodies(&self) -> bool {
        self.record_bodies.load(Relaxed)
    }

    pub(crate) fn set_record_bodies(&self, on: bool) {
        self.record_bodies.store(on, Relaxed);
    }

    /// Runs `write`, which passes bytes to the socket and counts completed replies.
    pub(crate) fn while_writing<T>(&self, write: impl FnOnce() -> T) -> T {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        write()
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let _settled = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        Stats {
            connections: self.connections.load(Relaxed),
            chat_connections: self.chat_connections.load(Relaxed),
            requests: self.requests.load(Relaxed),
            completed: self.completed.load(Relaxed),
            answered: self.answered.load(Relaxed),
            faults: self.direct.faults.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            max_in_flight: self.max_in_flight.load(Relaxed),
            by_model: self.direct.models(),
            by_task: self.direct.tasks(),
            bodies: self.direct.body_counts(),
            batches: BatchStats {
                created: self.batches_created.load(Relaxed),
                items: self.items.load(Relaxed),
                answered: self.items_answered.load(Relaxed),
                faults: self.batched.faults.load(Relaxed),
                polls: self.batch_polls.load(Relaxed),
                refused: self.batch_refusals.load(Relaxed),
                by_model: self.batched.models(),
                by_task: self.batched.tasks(),
                bodies: self.batched.body_counts(),
            },
        }
    }
}

fn named<'a>(names: impl Iterator<Item = &'a str>, counts: &[AtomicU64]) -> BTreeMap<String, u64> {
    names
        .zip(counts)
        .map(|(name, count)| (name.to_owned(), count.load(Relaxed)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}

/// One chat request in flight. Dropping it ends the request.
#[derive(Debug)]
pub(crate) struct Ticket {
    counts: Arc<Counts>,
    regular: bool,
    body: Option<BodyHash>,
}

impl Ticket {
    /// Counts a request; `first` is true for the first one of its connection.
    pub(crate) fn new(counts: &Arc<Counts>, first: bool) -> Self {
        counts.requests.fetch_add(1, Relaxed);
        if first {
            counts.chat_connections.fetch_add(1, Relaxed);
        }
        let now = counts.in_flight.fetch_add(1, Relaxed) + 1;
        counts.max_in_flight.fetch_max(now, Relaxed);
        Self {
            counts: Arc::clone(counts),
            regular: false,
            body: None,
        }
    }

    /// Records the request's body.
    pub(crate) fn received(&mut self, hash: BodyHash) {
        self.counts.direct.body(hash, |count| count.received += 1);
        self.body = Some(hash);
    }

    /// Records that the reply is a regular one.
    pub(crate) fn regular(&mut self) {
        self.regular = true;
    }

    /// Records that the last byte of the reply was passed to the socket.
    pub(crate) fn complete(self) {
        self.counts.completed.fetch_add(1, Relaxed);
        if self.regular {
            self.counts.answered.fetch_add(1, Relaxed);
            if let Some(hash) = self.body {
                self.counts.direct.body(hash, |count| count.answered += 1);
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.counts.in_flight.fetch_sub(1, Relaxed);
    }
}
