//! Replies on their way into the database: at once into the tail, a little later, many together, into the database.

use std::{
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{
    CacheKey,
    error::{CacheError, Problem, is_damage, sqlite_problem},
    file,
    group::Group,
    known::Known,
    line::Entry,
    mend::mend,
    rows,
    stored::StoredReply,
    tail::Tail,
};

/// A commit is made when the replies that wait have this many bytes.
const GROUP: usize = 2 << 20;
/// Most bytes of replies that wait, those included that are being committed.
const MOST: usize = 6 << 20;
/// What a reply takes beside its response.
const BESIDE: usize = 300;
/// How long the first of a group waits for others. Each reply that shares a commit saves the locks and the writes of one. It is safe
/// where it waits; only other processes cannot see it yet.
const LINGER: Duration = Duration::from_secs(2);

/// What a reply with a response of `length` bytes counts.
fn weight(length: usize) -> u32 {
    let bytes = length.saturating_add(BESIDE).min(MOST);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Takes replies and writes them. Dropping it waits until everything is in the database.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
}

/// What the callers and the thread share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Told when the thread has something to do.
    work: Condvar,
    /// Told when a group is in the database.
    done: Condvar,
    /// A permit for each byte that may wait.
    room: Semaphore,
    stored: AtomicU64,
    not_stored: AtomicU64,
    trouble: OnceLock<String>,
    /// How messages call the file.
    name: String,
    /// The file has a largest size.
    limited: bool,
}

#[derive(Debug)]
struct State {
    /// One takes replies while those of the other are committed.
    tails: [Tail; 2],
    active: usize,
    /// The replies for the active tail.
    group: Group,
    /// Those that are being committed.
    leaving: Option<Arc<Group>>,
    /// An empty one, for its memory.
    idle: Group,
    /// How many replies came into a tail, and how many of them were committed or given up.
    came: u64,
    settled: u64,
    /// Somebody waits for the database.
    urgent: bool,
    closing: bool,
    /// The thread is gone.
    ended: bool,
}

impl Writer {
    /// Starts the thread. `tails` are empty.
    pub(super) fn start(
        connection: Connection,
        tails: [Tail; 2],
        known: Arc<Known>,
        path: &Path,
        limited: bool,
    ) -> Result<Self, CacheError> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                tails,
                active: 0,
                group: Group::default(),
                leaving: None,
                idle: Group::default(),
                came: 0,
                settled: 0,
                urgent: false,
                closing: false,
                ended: false,
            }),
            work: Condvar::new(),
            done: Condvar::new(),
            room: Semaphore::new(MOST),
            stored: AtomicU64::new(0),
            not_stored: AtomicU64::new(0),
            trouble: OnceLock::new(),
            name: path.display().to_string(),
            limited,
        });
        let (of_thread, file) = (Arc::clone(&shared), path.to_owned());
        let thread = std::thread::Builder::new()
            .name("response-cache".to_owned())
            .spawn(move || run(connection, &file, &of_thread, &known))
            .map_err(|error| CacheError::new(path, Problem::Thread(error)))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Takes room for a reply with a response of `length` bytes, where there is some and nobody waits for it. What is added with it
    /// gives it back.
    pub(super) fn take_room(&self, length: usize) -> bool {
        let room = self.shared.room.try_acquire_many(weight(length));
        room.map(SemaphorePermit::forget).is_ok()
    }

    /// Waits for the room: so many other replies wait for the database. `false` when there will never be any.
    pub(super) async fn wait_for_room(&self, length: usize) -> bool {
        let room = self.shared.room.acquire_many(weight(length)).await;
        if room.is_err() {
            let problem = "its thread stopped by a fault in the program";
            self.shared.lost(1, problem);
        }
        room.map(SemaphorePermit::forget).is_ok()
    }

    /// Adds a reply for which there is room. It outlives the process when [`write_out`](Self::write_out) has returned.
    pub(super) fn add(&self, entry: &Entry<'_>) {
        let weight = weight(entry.response.len()) as usize;
        if let Err(error) = self.shared.add(entry, weight) {
            self.shared.room.add_permits(weight);
            self.shared
                .lost(1, &format!("cannot take a reply: {error}"));
        }
    }

    /// Writes all that was added. Then it outlives the process, or counts as lost.
    pub(super) fn write_out(&self) {
        self.shared.write_out(&mut self.shared.state());
    }

    /// The reply that waits under `key`, where it is not older than `oldest`.
    pub(super) fn fresh(&self, key: &CacheKey, oldest: i64) -> Option<StoredReply> {
        let state = self.shared.state();
        let of_leaving = || state.leaving.as_ref()?.find(key, oldest);
        state.group.find(key, oldest).or_else(of_leaving)
    }

    /// Waits until everything that came before is in the database.
    pub(super) fn flush(&self) {
        let mut state = self.shared.state();
        let target = state.came;
        if state.settled >= target {
            return;
        }
        state.urgent = true;
        self.shared.work.notify_one();
        let open = |state: &mut State| state.settled < target && !state.ended;
        drop(self.shared.done.wait_while(state, open));
    }

    pub(super) fn stored(&self) -> u64 {
        self.shared.stored.load(Relaxed)
    }

    pub(super) fn not_stored(&self) -> u64 {
        self.shared.not_stored.load(Relaxed)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.shared.trouble.get().cloned()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // It fails only if the thread panicked, and then there is nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, entry: &Entry<'_>, weight: usize) -> std::io::Result<()> {
        let mut guard = self.state();
        let state = &mut *guard;
        let round = state.tails[state.active].round();
        state.group.push(entry, weight, round)
    }

    /// Writes all lines that are still in memory only into the tail. When it returns, they outlive the process, or count as lost.
    fn write_out(&self, state: &mut State) {
        let group = &mut state.group;
        let before = group.written();
        if group.len() == before {
            return;
        }
        if let Err(error) = state.tails[state.active].append(group.unwritten()) {
            let (count, weight) = group.drop_unwritten();
            self.room.add_permits(weight);
            return self.lost(count, &format!("cannot be written beside it: {error}"));
        }
        let light = group.written_weight() < GROUP;
        let count = group.mark_written() as u64;
        state.came += count;
        self.stored.fetch_add(count, Relaxed);
        if before == 0 || (light && group.written_weight() >= GROUP) {
            self.work.notify_one();
        }
    }

    /// The next group, and the tail that holds it; `None` when there will be no more.
    fn next_group(&self) -> Option<(Arc<Group>, usize)> {
        let nothing = |state: &mut State| state.group.written() == 0 && !state.closing;
        let state = self.work.wait_while(self.state(), nothing);
        let few = |state: &mut State| {
            state.group.written_weight() < GROUP && !state.urgent && !state.closing
        };
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.work.wait_timeout_while(state, LINGER, few);
        let mut guard = state.unwrap_or_else(PoisonError::into_inner).0;
        let state = &mut *guard;
        // Of calls that were given up in between.
        self.write_out(state);
        if state.group.written() == 0 {
            return None;
        }
        let full = state.active;
        state.active = 1 - full;
        state.urgent = false;
        let next = std::mem::take(&mut state.idle);
        let group = Arc::new(std::mem::replace(&mut state.group, next));
        state.leaving = Some(Arc::clone(&group));
        Some((group, full))
    }

    /// Forgets a group that was committed or given up.
    fn settle(&self, group: Arc<Group>, tail: usize) {
        let (count, weight) = (group.len(), group.weight());
        let mut state = self.state();
        state.leaving = None;
        state.settled += count as u64;
        // Lines that stay are read once more by a later process, and change nothing there.
        let _ = state.tails[tail].clear();
        drop(state);
        self.room.add_permits(weight);
        self.done.notify_all();
        if let Some(mut group) = Arc::into_inner(group) {
            group.clear();
            self.state().idle = group;
        }
    }

    /// Takes note that the database did not take a reply. Its line stays in the tail for the next process, unless the file may
    /// grow no further anyway.
    fn refused(&self, tail: usize, problem: &str) {
        if self.limited {
            self.stored.fetch_sub(1, Relaxed);
            return self.lost(1, problem);
        }
        self.state().tails[tail].keep();
        self.lost(0, problem);
    }

    /// Counts replies that are not kept, and tells the first time why.
    fn lost(&self, count: usize, problem: &str) {
        self.not_stored.fetch_add(count as u64, Relaxed);
        let problem = format!("the response cache {} {problem}", self.name);
        if self.trouble.set(problem.clone()).is_ok() {
            tracing::warn!(
                "{problem}. Replies that are not stored will be paid for again by a later run"
            );
        }
    }
}

/// Wakes everybody when the thread ends, by a panic too.
struct WakeAtEnd<'a>(&'a Shared);

impl Drop for WakeAtEnd<'_> {
    fn drop(&mut self) {
        self.0.state().ended = true;
        self.0.room.close();
        self.0.done.notify_all();
    }
}

fn run(mut connection: Connection, path: &Path, shared: &Shared, known: &Known) {
    let _wake = WakeAtEnd(shared);
    let mut may_mend = true;
    while let Some((group, tail)) = shared.next_group() {
        let order = group.by_key();
        let entries = || order.iter().filter_map(|at| group.entry(*at));
        let mut result = commit(&mut connection, entries(), known);
        if let Err(error) = &result
            && is_damage(error)
            && may_mend
        {
            let mended = mend(&mut connection, path);
            result = mended.and_then(|()| commit(&mut connection, entries(), known));
            may_mend = result.is_ok();
        }
        if result.is_err() {
            // One that is too large must not take the others with it.
            for entry in entries() {
                if let Err(error) = commit(&mut connection, [entry], known) {
                    shared.refused(tail, &sqlite_problem(&error));
                }
            }
        }
        shared.settle(group, tail);
    }
}

/// Writes a group in one transaction. All of it is in the database, or nothing. What another process stored first stays.
fn commit<'a>(
    connection: &mut Connection,
    entries: impl IntoIterator<Item = Entry<'a>>,
    known: &Known,
) -> rusqlite::Result<()> {
    let transaction = file::begin(connection)?;
    // Now or never: behind the rows that follow nobody would look for those of others.
    known.look(&transaction)?;
    let row = rows::insert(&transaction, entries)?;
    transaction.commit()?;
    known.stored(row);
    Ok(())
}
