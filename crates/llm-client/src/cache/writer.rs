//! Replies on their way into the database: at once into the tail, a little later, many together, into the database.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{
    CacheKey,
    error::{CacheError, Problem, sqlite_problem},
    file,
    known::Known,
    tail::{Tail, Waiting},
};

/// A commit is made when this many replies wait.
const GROUP: usize = 1024;
/// Most replies that wait, those included that are being committed.
const MOST: usize = 3072;
/// A buffer of lines that has grown beyond this is given back.
const KEEP_LINES: usize = 256 << 10;
/// How long the first of a group waits for others. Each reply that shares a commit saves the locks and the writes of one.
const LINGER: Duration = Duration::from_millis(400);

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
    /// A permit for each reply that may wait.
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
    /// Replies that are not yet in the database.
    fresh: HashMap<CacheKey, Arc<Waiting>>,
    /// Those of them that are not in a tail either, and their lines.
    unwritten: Vec<Arc<Waiting>>,
    lines: Vec<u8>,
    /// Those in a tail that no commit has taken, in order.
    queue: Vec<Arc<Waiting>>,
    /// How many replies came, and how many of them were committed or given up.
    came: u64,
    settled: u64,
    /// Somebody waits for the database.
    urgent: bool,
    closing: bool,
    /// The thread is gone.
    ended: bool,
}

impl State {
    /// Ends the waiting of one reply. A later one to the same question may wait by now, and stays.
    fn forget(&mut self, waiting: &Arc<Waiting>) {
        let same = |fresh: &Arc<Waiting>| Arc::ptr_eq(fresh, waiting);
        if self.fresh.get(&waiting.key).is_some_and(same) {
            self.fresh.remove(&waiting.key);
        }
    }
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
                fresh: HashMap::new(),
                unwritten: Vec::new(),
                lines: Vec::new(),
                queue: Vec::new(),
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
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("response-cache".to_owned())
            .spawn(move || run(connection, &of_thread, &known))
            .map_err(|error| CacheError::new(path, Problem::Thread(error)))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Stores `waiting` so that it outlives the process, and returns. Waits only while too many others wait for the database.
    pub(super) async fn store(&self, waiting: Waiting) {
        let shared = &*self.shared;
        match shared.room.acquire().await {
            // Given back when it is in the database.
            Ok(permit) => permit.forget(),
            Err(_) => return shared.lost(1, "its thread stopped by a fault in the program"),
        }
        if let Err(error) = shared.enqueue(waiting) {
            shared.room.add_permits(1);
            return shared.lost(1, &format!("cannot take a reply: {error}"));
        }
        // Replies often come several at a time. Those that came with this one get their turn first, and one write takes all.
        tokio::task::yield_now().await;
        shared.write_out(&mut shared.state());
    }

    /// The reply that waits under `key`, where it is not older than `oldest`.
    pub(super) fn fresh(&self, key: &CacheKey, oldest: i64) -> Option<Arc<Waiting>> {
        let waiting = self.shared.state().fresh.get(key).cloned()?;
        (waiting.created >= oldest).then_some(waiting)
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

    fn enqueue(&self, waiting: Waiting) -> std::io::Result<()> {
        let mut guard = self.state();
        let state = &mut *guard;
        waiting.write(state.tails[state.active].round(), &mut state.lines)?;
        let waiting = Arc::new(waiting);
        state.fresh.insert(waiting.key, Arc::clone(&waiting));
        state.unwritten.push(waiting);
        Ok(())
    }

    /// Writes all lines that are still in memory into the tail. When it returns, they outlive the process, or count as lost.
    fn write_out(&self, state: &mut State) {
        if state.unwritten.is_empty() {
            return;
        }
        let count = state.unwritten.len();
        let result = state.tails[state.active].append(&state.lines);
        state.lines.clear();
        state.lines.shrink_to(KEEP_LINES);
        if let Err(error) = result {
            for waiting in std::mem::take(&mut state.unwritten) {
                state.forget(&waiting);
            }
            self.room.add_permits(count);
            return self.lost(count, &format!("cannot be written beside it: {error}"));
        }
        let before = state.queue.len();
        state.queue.append(&mut state.unwritten);
        state.came += count as u64;
        self.stored.fetch_add(count as u64, Relaxed);
        if before == 0 || (before < GROUP && state.queue.len() >= GROUP) {
            self.work.notify_one();
        }
    }

    /// The next group, and the tail that holds it; `None` when there will be no more.
    fn next_group(&self) -> Option<(Vec<Arc<Waiting>>, usize)> {
        let nothing = |state: &mut State| state.queue.is_empty() && !state.closing;
        let state = self.work.wait_while(self.state(), nothing);
        let few = |state: &mut State| state.queue.len() < GROUP && !state.urgent && !state.closing;
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.work.wait_timeout_while(state, LINGER, few);
        let mut state = state.unwrap_or_else(PoisonError::into_inner).0;
        // Of calls that were given up in between.
        self.write_out(&mut state);
        if state.queue.is_empty() {
            return None;
        }
        // Neighbours in the database's index are then written together. Those of one key stay in order.
        state.queue.sort_by_key(|waiting| waiting.key);
        let full = state.active;
        state.active = 1 - full;
        state.urgent = false;
        Some((std::mem::take(&mut state.queue), full))
    }

    /// Forgets a group that was committed or given up.
    fn settle(&self, group: &[Arc<Waiting>], tail: usize) {
        let mut guard = self.state();
        let state = &mut *guard;
        for waiting in group {
            state.forget(waiting);
        }
        state.settled += group.len() as u64;
        // Lines that stay are read once more by a later process, and change nothing there.
        let _ = state.tails[tail].clear();
        drop(guard);
        self.room.add_permits(group.len());
        self.done.notify_all();
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

fn run(mut connection: Connection, shared: &Shared, known: &Known) {
    let _wake = WakeAtEnd(shared);
    while let Some((group, tail)) = shared.next_group() {
        if commit(&mut connection, &group, known).is_err() {
            // One that is too large must not take the others with it.
            for waiting in &group {
                if let Err(error) = commit(&mut connection, std::slice::from_ref(waiting), known) {
                    shared.refused(tail, &sqlite_problem(&error));
                }
            }
        }
        shared.settle(&group, tail);
    }
}

/// Writes a group in one transaction. All of it is in the database, or nothing. What another process stored first stays.
fn commit(
    connection: &mut Connection,
    group: &[Arc<Waiting>],
    known: &Known,
) -> rusqlite::Result<()> {
    let transaction = file::begin(connection)?;
    // Now or never: behind the rows that follow nobody would look for those of others.
    known.look(&transaction)?;
    let row = file::insert(&transaction, group.iter().map(|waiting| &**waiting))?;
    transaction.commit()?;
    known.stored(row);
    Ok(())
}
