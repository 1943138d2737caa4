//! The files and batches that the server holds in memory.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use hyper::StatusCode;
use jiff::Timestamp;

use super::{
    progress::Batch,
    route::BatchApi,
    script::{ActiveScript, BatchScript},
};
use crate::{
    hash::{mix, text_seed},
    wire::ApiError,
};

/// The most bytes of files, and of batches of Anthropic, that are held before new ones are refused.
const MOST_BYTES: usize = 512 << 20;
/// The most files and batches that are held.
const MOST_OBJECTS: usize = 100_000;

/// All files and batches.
pub(crate) struct BatchStore {
    active: RwLock<Arc<ActiveScript>>,
    /// Makes the ids differ from those of other servers: a client may hold the id of a server that has ended.
    salt: u64,
    numbers: AtomicU64,
    /// Batches with a smaller number are finished, whatever their time.
    finished_below: AtomicU64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    files: HashMap<String, File>,
    /// In the order of their creation.
    batches: Vec<Arc<Entry>>,
    bytes: usize,
}

/// An uploaded file, or the output of a batch.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) purpose: String,
    pub(crate) created: Timestamp,
    pub(crate) content: Bytes,
}

/// A batch and what identifies it.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) api: BatchApi,
    number: u64,
    pub(crate) batch: tokio::sync::Mutex<Batch>,
}

impl fmt::Debug for BatchStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BatchStore")
    }
}

impl BatchStore {
    pub(crate) fn new(script: BatchScript) -> Self {
        let started = format!("{} {}", Timestamp::now(), std::process::id());
        Self {
            active: RwLock::new(Arc::new(ActiveScript::new(script))),
            salt: text_seed(&started),
            numbers: AtomicU64::new(0),
            finished_below: AtomicU64::new(0),
            held: Mutex::default(),
        }
    }

    /// The script of new batches, and the faults of all requests.
    pub(crate) fn script(&self) -> Arc<ActiveScript> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_script(&self, script: BatchScript) {
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        *active = Arc::new(ActiveScript::new(script));
    }

    /// Finishes all batches so far.
    pub(crate) fn finish(&self) {
        self.finished_below
            .store(self.numbers.load(Relaxed), Relaxed);
    }

    /// Whether the time of a batch has passed because of [`BatchStore::finish`].
    pub(crate) fn is_finished(&self, entry: &Entry) -> bool {
        entry.number < self.finished_below.load(Relaxed)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_id(&self, prefix: &str) -> (u64, String) {
        let number = self.numbers.fetch_add(1, Relaxed);
        let mixed = mix(self.salt ^ number);
        (number, format!("{prefix}{mixed:016x}{:016x}", mix(mixed)))
    }

    /// Holds an uploaded file and returns its id.
    ///
    /// # Errors
    /// Status 413 when too much is held.
    pub(crate) fn add_file(&self, file: File) -> Result<String, ApiError> {
        self.held().check(file.content.len())?;
        Ok(self.add_output(file))
    }

    /// Holds the output of a batch, however much is held: its input was accepted.
    pub(crate) fn add_output(&self, file: File) -> String {
        let (_, id) = self.next_id("file-");
        let mut held = self.held();
        held.bytes += file.content.len();
        held.files.insert(id.clone(), file);
        id
    }

    pub(crate) fn file(&self, id: &str) -> Option<File> {
        self.held().files.get(id).cloned()
    }

    pub(crate) fn delete_file(&self, id: &str) -> Option<File> {
        let mut held = self.held();
        let file = held.files.remove(id)?;
        held.bytes = held.bytes.saturating_sub(file.content.len());
        Some(file)
    }

    /// Holds a batch of `bytes` bytes that are in no file.
    ///
    /// # Errors
    /// Status 413 when too much is held.
    pub(crate) fn add_batch(
        &self,
        api: BatchApi,
        batch: Batch,
        bytes: usize,
    ) -> Result<Arc<Entry>, ApiError> {
        let (number, id) = self.next_id(match api {
            BatchApi::OpenAi => "batch_",
            BatchApi::Anthropic => "msgbatch_",
        });
        let mut held = self.held();
        held.check(bytes)?;
        held.bytes += bytes;
        let entry = Arc::new(Entry {
            id,
            api,
            number,
            batch: tokio::sync::Mutex::new(batch),
        });
        held.batches.push(Arc::clone(&entry));
        Ok(entry)
    }

    /// Counts that a batch now holds `after` bytes in place of `before`.
    pub(crate) fn resize(&self, before: usize, after: usize) {
        let mut held = self.held();
        held.bytes = held.bytes.saturating_sub(before) + after;
    }

    pub(crate) fn batch(&self, api: BatchApi, id: &str) -> Option<Arc<Entry>> {
        let held = self.held();
        let entry = held.batches.iter().find(|entry| entry.id == id);
        entry.filter(|entry| entry.api == api).cloned()
    }

    pub(crate) fn delete_batch(&self, id: &str) {
        self.held().batches.retain(|entry| entry.id != id);
    }

    /// The batches of an interface, newest first.
    pub(crate) fn batches(&self, api: BatchApi) -> Vec<Arc<Entry>> {
        let held = self.held();
        let of_it = held.batches.iter().filter(|entry| entry.api == api);
        of_it.rev().cloned().collect()
    }
}

impl Held {
    fn check(&self, more: usize) -> Result<(), ApiError> {
        let is_full = self.bytes.saturating_add(more) > MOST_BYTES
            || self.files.len() + self.batches.len() >= MOST_OBJECTS;
        match is_full {
            true => Err(ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "invalid_request_error",
                format!(
                    "The server holds at most {MOST_OBJECTS} files and batches, and {MOST_BYTES} bytes of them; delete some."
                ),
            )
            .code("storage_limit_exceeded")),
            false => Ok(()),
        }
    }
}
