//! The thread that writes.

use std::{path::Path, path::PathBuf, sync::Arc, thread::JoinHandle, time::SystemTime};

use rusqlite::Connection;
use schema::{JsonText, Spend};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    CacheError, CacheKey, EndpointHash, KeptPace, PACE_KEPT, StoredReply,
    checkpoints::Checkpoints,
    error::is_damage,
    file, kept_pace, repair,
    row::{Row, micros},
};

/// The most bytes of waiting replies, including replies that are being committed.
const MOST: usize = 6 << 20;
/// Bytes of a reply besides its texts.
const BESIDE: usize = 300;
/// Bytes of the log at which the writer checkpoints itself, because the thread for it does not keep up.
const LONGEST_LOG: i64 = 256 << 20;
/// Most replies of one commit.
const GROUP: usize = 1024;

/// Commits replies. A commit takes all waiting replies, so that it costs little for each when many come at once. Dropping the writer
/// waits until all are committed.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    /// `None` only while the writer is dropped.
    jobs: Option<mpsc::UnboundedSender<Job>>,
    /// A permit for each byte that may wait.
    room: Arc<Semaphore>,
    /// `None` only while the writer is dropped.
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Job {
    Put(Put),
    /// Keeps the pace of an endpoint.
    Pace(EndpointHash, KeptPace),
    /// Repairs the file: a page cannot be read.
    Repair(oneshot::Sender<()>),
}

/// A reply on its way into the file.
#[derive(Debug)]
struct Put {
    key: CacheKey,
    created: i64,
    run_time_us: i64,
    failed: Option<String>,
    response: Option<JsonText>,
    body: Option<String>,
    model: Option<String>,
    endpoint: Option<String>,
    /// Gets the result of the commit.
    done: oneshot::Sender<Result<(), CacheError>>,
    /// Released when the reply is committed or refused.
    _room: OwnedSemaphorePermit,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, CacheError> {
        let (jobs, receiver) = mpsc::unbounded_channel();
        let file = path.to_owned();
        let checkpoints = Checkpoints::start(path)?;
        file::checkpoint_after(&connection, LONGEST_LOG)
            .map_err(|error| CacheError::sqlite(path, error))?;
        let thread = std::thread::Builder::new()
            .name("response-cache".to_owned())
            .spawn(move || run(connection, &file, receiver, checkpoints))
            .map_err(|source| CacheError::Thread {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            path: path.to_owned(),
            jobs: Some(jobs),
            room: Arc::new(Semaphore::new(MOST)),
            thread: Some(thread),
        })
    }

    /// Stores `reply`, and returns when it is committed. Waits first if the waiting replies take too much memory.
    pub(super) async fn put(&self, key: &CacheKey, reply: &StoredReply) -> Result<(), CacheError> {
        let stopped = || CacheError::WriterStopped {
            path: self.path.clone(),
        };
        let failed = &reply.failed_attempts;
        let failed = (failed.calls > 0).then(|| json::<Spend>(failed));
        let body = reply.body.as_ref().map(json);
        let wire = reply.wire.as_ref().map_or(0, |wire| wire.as_bytes().len());
        let bytes = (BESIDE + wire + body.as_ref().map_or(0, String::len)).min(MOST);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await;
        let (done, committed) = oneshot::channel();
        let put = Put {
            key: *key,
            created: micros(reply.created),
            run_time_us: i64::try_from(reply.run_time.as_micros()).unwrap_or(i64::MAX),
            failed,
            response: reply.wire.clone(),
            body,
            model: reply.model.clone(),
            endpoint: reply.endpoint.clone(),
            done,
            _room: room.map_err(|_| stopped())?,
        };
        self.send(Job::Put(put));
        committed.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Keeps the pace of `endpoint`, some time soon.
    pub(super) fn keep_pace(&self, endpoint: EndpointHash, pace: KeptPace) {
        self.send(Job::Pace(endpoint, pace));
    }

    /// Repairs the file, and returns when that is done or has failed.
    pub(super) async fn repair(&self) {
        let (done, repaired) = oneshot::channel();
        self.send(Job::Repair(done));
        // Has no effect after the thread has ended.
        let _ = repaired.await;
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // If the thread has ended, the job is dropped, and its waiter wakes.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It fails only if the thread panicked, and then there is nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Put {
    fn row(&self) -> Row<'_> {
        Row {
            key: self.key.as_bytes(),
            created: self.created,
            run_time_us: self.run_time_us,
            failed: self.failed.as_deref(),
            response: self.response.as_ref().map_or("", JsonText::get),
            body: self.body.as_deref(),
            model: self.model.as_deref(),
            endpoint: self.endpoint.as_deref(),
        }
    }
}

/// A map or struct with text for keys can always be written.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn run(
    mut connection: Connection,
    path: &Path,
    mut receiver: mpsc::UnboundedReceiver<Job>,
    mut checkpoints: Checkpoints,
) {
    let mut jobs = Vec::new();
    let mut may_repair = true;
    while receiver.blocking_recv_many(&mut jobs, GROUP) > 0 {
        let (mut puts, mut repairs, mut paces) = (Vec::new(), Vec::new(), Vec::new());
        for job in jobs.drain(..) {
            match job {
                Job::Put(put) => puts.push(put),
                Job::Pace(endpoint, pace) => paces.push((endpoint, pace)),
                Job::Repair(done) => repairs.push(done),
            }
        }
        let mut committed = commit(&mut connection, &puts);
        let damaged = committed.as_ref().is_err_and(is_damage) || !repairs.is_empty();
        if damaged && may_repair {
            // Only once: a file that is damaged again at once is on a failing disk.
            may_repair = false;
            if let Err(error) = repair::repair(&mut connection, path) {
                tracing::debug!(
                    "the response cache {} is not repaired: {error}",
                    path.display()
                );
            }
            if committed.is_err() {
                committed = commit(&mut connection, &puts);
            }
        }
        drop(repairs);
        for put in puts {
            let result = match &committed {
                Ok(()) => Ok(()),
                // A reply that is too large must not take the others with it.
                Err(_) => commit(&mut connection, std::slice::from_ref(&put)),
            };
            checkpoints.logged(put.row().bytes());
            // A caller that no longer waits needs no answer.
            let _ = put
                .done
                .send(result.map_err(|error| CacheError::sqlite(path, error)));
        }
        keep_paces(&connection, &paces);
    }
}

/// Keeps the paces of endpoints. Without them the next run learns them again.
fn keep_paces(connection: &Connection, paces: &[(EndpointHash, KeptPace)]) {
    for (endpoint, pace) in paces {
        let oldest = pace
            .learned
            .checked_sub(PACE_KEPT)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        if let Err(error) = kept_pace::keep(connection, endpoint, *pace, oldest) {
            tracing::debug!(%error, "the pace of an endpoint is not kept");
        }
    }
}

/// Writes a group in one transaction: all of it or nothing.
fn commit(connection: &mut Connection, puts: &[Put]) -> rusqlite::Result<()> {
    if puts.is_empty() {
        return Ok(());
    }
    let transaction = file::begin(connection)?;
    for put in puts {
        // Replaces an existing row.
        put.row().insert(&transaction, i64::MAX)?;
    }
    transaction.commit()
}
