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
/// Only calls of the chat endpoint are counted as requests; `GET /stats` and `GET /v1/models` are not.
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
    /// Calls with a fault.
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
    faults: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
    by_role: [AtomicU64; Role::ALL.len() + 1],
    by_task: [AtomicU64; Task::ALL.len()],
    record_bodies: AtomicBool,
    bodies: Mutex<BTreeMap<BodyHash, BodyCount>>,
    /// Held for reading while a reply is written and counted, so that a snapshot includes everything that a client has
    /// read.
    writing: RwLock<()>,
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

    pub(crate) fn records_bodies(&self) -> bool {
        self.record_bodies.load(Relaxed)
    }

    pub(crate) fn set_record_bodies(&self, on: bool) {
        self.record_bodies.store(on, Relaxed);
    }

    fn body(&self, hash: BodyHash, count: impl FnOnce(&mut BodyCount)) {
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        count(bodies.entry(hash).or_default());
    }

    /// Runs `write`, which passes bytes to the socket and counts completed replies.
    pub(crate) fn while_writing<T>(&self, write: impl FnOnce() -> T) -> T {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        write()
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let _settled = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        let models = Role::ALL.iter().map(|role| role.model()).chain(["other"]);
        let tasks = Task::ALL.iter().map(|task| task.as_str());
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        Stats {
            connections: self.connections.load(Relaxed),
            chat_connections: self.chat_connections.load(Relaxed),
            requests: self.requests.load(Relaxed),
            completed: self.completed.load(Relaxed),
            answered: self.answered.load(Relaxed),
            faults: self.faults.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            max_in_flight: self.max_in_flight.load(Relaxed),
            by_model: named(models, &self.by_role),
            by_task: named(tasks, &self.by_task),
            bodies: bodies
                .iter()
                .map(|(hash, count)| (hex(hash), *count))
                .collect(),
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
        self.counts.body(hash, |count| count.received += 1);
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
                self.counts.body(hash, |count| count.answered += 1);
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.counts.in_flight.fetch_sub(1, Relaxed);
    }
}
