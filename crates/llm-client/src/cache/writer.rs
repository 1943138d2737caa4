//! The one thread that writes.

use std::{
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{
    CacheKey,
    error::{CacheError, Problem, sqlite_problem},
    file, now,
    stored::StoredReply,
};

/// Most replies that one commit takes.
const GROUP: usize = 256;
/// How long a commit waits for replies that come shortly after its first one. Little beside the seconds of a call, and each
/// reply that shares a commit saves the locks, the writes and the wake-ups of one.
const LINGER: Duration = Duration::from_millis(2);

/// What became of a reply that was to be stored.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is on disk.
    Stored,
    /// Another process stored one for the same key before; that one counts.
    Beaten(StoredReply),
    /// It could not be stored.
    Failed,
}

/// Takes replies and writes them, all that wait in one commit. Dropping it waits until everything is on disk.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while it is dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    stored: AtomicU64,
    not_stored: AtomicU64,
    trouble: OnceLock<String>,
}

struct Job {
    key: CacheKey,
    reply: StoredReply,
    oldest: i64,
    done: oneshot::Sender<Outcome>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, CacheError> {
        let (jobs, waiting) = mpsc::channel(GROUP);
        let state = Arc::new(State::default());
        let name = path.display().to_string();
        let thread = std::thread::Builder::new()
            .name("response-cache".to_owned())
            .spawn({
                let state = Arc::clone(&state);
                let file = File { connection, name };
                move || file.write_all(waiting, &state)
            })
            .map_err(|error| CacheError::new(path, Problem::Thread(error)))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            state,
        })
    }

    /// Hands `reply` over and waits until it is on disk.
    pub(super) async fn store(&self, key: CacheKey, reply: StoredReply, oldest: i64) -> Outcome {
        let (done, outcome) = oneshot::channel();
        let job = Job {
            key,
            reply,
            oldest,
            done,
        };
        let Some(jobs) = &self.jobs else {
            return Outcome::Failed;
        };
        if jobs.send(job).await.is_err() {
            return Outcome::Failed;
        }
        outcome.await.unwrap_or(Outcome::Failed)
    }

    pub(super) fn stored(&self) -> u64 {
        self.state.stored.load(Relaxed)
    }

    pub(super) fn not_stored(&self) -> u64 {
        self.state.not_stored.load(Relaxed)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state.trouble.get().cloned()
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

/// The file, as the thread holds it.
struct File {
    connection: Connection,
    /// How messages call it.
    name: String,
}

impl File {
    fn write_all(mut self, mut waiting: mpsc::Receiver<Job>, state: &State) {
        let mut group = Vec::with_capacity(GROUP);
        while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
            linger(&mut waiting, &mut group);
            match self.commit(&group) {
                Ok(outcomes) => answer(group.drain(..).zip(outcomes), state),
                // One that is too large must not take the others with it.
                Err(_) if group.len() > 1 => {
                    for job in group.drain(..) {
                        self.one(job, state);
                    }
                }
                Err(error) => {
                    failed(state, &self.name, &error);
                    answer(group.drain(..).map(|job| (job, Outcome::Failed)), state);
                }
            }
        }
    }

    fn one(&mut self, job: Job, state: &State) {
        let outcome = match self.commit(std::slice::from_ref(&job)) {
            Ok(outcomes) => outcomes.into_iter().next().unwrap_or(Outcome::Failed),
            Err(error) => {
                failed(state, &self.name, &error);
                Outcome::Failed
            }
        };
        answer(std::iter::once((job, outcome)), state);
    }

    /// Writes a group in one transaction. All of it is on disk, or nothing.
    fn commit(&mut self, group: &[Job]) -> rusqlite::Result<Vec<Outcome>> {
        let transaction = file::begin(&mut self.connection)?;
        let created = now();
        let mut outcomes = Vec::with_capacity(group.len());
        for job in group {
            let stored = file::insert(&transaction, &job.key, &job.reply, created, job.oldest)?;
            outcomes.push(if stored {
                Outcome::Stored
            } else {
                first(&transaction, job)?
            });
        }
        transaction.commit()?;
        Ok(outcomes)
    }
}

/// Waits a little for more to write, unless the group is full.
fn linger(waiting: &mut mpsc::Receiver<Job>, group: &mut Vec<Job>) {
    if group.len() < GROUP && !waiting.is_closed() {
        std::thread::sleep(LINGER);
    }
    while group.len() < GROUP
        && let Ok(job) = waiting.try_recv()
    {
        group.push(job);
    }
}

/// The reply that was stored before this one.
fn first(connection: &Connection, job: &Job) -> rusqlite::Result<Outcome> {
    let row = file::find(connection, &job.key, job.oldest)?;
    Ok(row
        .and_then(super::stored::Row::into_reply)
        .map_or(Outcome::Failed, Outcome::Beaten))
}

fn answer(done: impl Iterator<Item = (Job, Outcome)>, state: &State) {
    for (job, outcome) in done {
        match outcome {
            Outcome::Stored => state.stored.fetch_add(1, Relaxed),
            Outcome::Failed => state.not_stored.fetch_add(1, Relaxed),
            Outcome::Beaten(_) => 0,
        };
        // Nobody waits any more when the call was dropped; the reply is stored all the same.
        let _ = job.done.send(outcome);
    }
}

fn failed(state: &State, name: &str, error: &rusqlite::Error) {
    let problem = format!("the response cache {name} {}", sqlite_problem(error));
    if state.trouble.set(problem.clone()).is_ok() {
        tracing::warn!(
            "{problem}. Replies that are not stored will be paid for again by a later run"
        );
    }
}
