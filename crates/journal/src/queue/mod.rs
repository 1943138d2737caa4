//! The lines on their way from those who record to the thread that writes.
//!
//! They wait as text in one buffer, which the thread takes as a whole and replaces by an empty one: nothing is allocated on one
//! side and freed on the other, and there is one wake-up per batch. A line is written where it waits, so that its text is copied
//! once; a thread that finds the buffer in use writes the line into a buffer of its own meanwhile.

use std::{
    convert::Infallible,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError, mpsc::SyncSender},
    time::Duration,
};

use jiff::Timestamp;

use crate::{clock::Clock, room::with_room};

/// A line waits when there is as much text before it. The thread may hold as much again.
const CAPACITY: usize = 1024 * 1024;
/// Text that is worth taking at once.
const ENOUGH: usize = 512 * 1024;
/// A buffer that a long line has grown beyond this is given back.
const KEEP_BUFFER: usize = 2 * CAPACITY;
/// How long the thread lets a batch grow, unless there is enough or somebody waits: to wake up on a processor that slept, or did
/// other things, costs as much as to write a hundred lines. With what a line may wait in the output, it stays below the second
/// that is promised.
const GATHER: Duration = Duration::from_millis(300);

/// A request to wait until all lines before it are with the operating system.
pub(crate) struct Flush {
    /// Or on the disk.
    pub(crate) sync: bool,
    pub(crate) done: SyncSender<()>,
}

/// What the thread takes at once. All of `lines` comes before the rest.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<u8>,
    /// How many lines these are.
    pub(crate) count: u64,
    pub(crate) flushes: Vec<Flush>,
    /// There will be no more lines.
    pub(crate) is_last: bool,
}

impl Batch {
    fn clear(&mut self) {
        self.lines.clear();
        self.lines.shrink_to(KEEP_BUFFER);
        self.count = 0;
        self.flushes.clear();
    }
}

pub(crate) struct Queue {
    state: Mutex<State>,
    /// Notified when the thread has something to do.
    ready: Condvar,
    /// Notified when there is room.
    room: Condvar,
}

struct State {
    batch: Batch,
    clock: Clock,
    /// The thread sleeps until something comes.
    is_asleep: bool,
    /// The last line is in the batch or was.
    ended: bool,
    /// There is no thread any more.
    closed: bool,
}

impl State {
    fn is_closing(&self) -> bool {
        self.ended || self.closed
    }

    fn is_idle(&self) -> bool {
        self.batch.count == 0 && self.batch.flushes.is_empty() && !self.is_closing()
    }

    fn is_full(&self) -> bool {
        self.batch.lines.len() >= CAPACITY && !self.is_closing()
    }

    fn is_worth_taking(&self) -> bool {
        let enough = self.batch.lines.len() >= ENOUGH;
        enough || !self.batch.flushes.is_empty() || self.is_closing()
    }

    /// Adds the line of `time`, whose text behind the time `rest` appends.
    fn add_line<E>(
        &mut self,
        time: Timestamp,
        is_last: bool,
        rest: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let lines = &mut self.batch.lines;
        let before = lines.len();
        lines.extend_from_slice(self.clock.start_of_line(time));
        if let Err(error) = rest(lines) {
            lines.truncate(before);
            return Err(error);
        }
        self.batch.count += 1;
        self.ended = is_last;
        Ok(())
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                batch: Batch::default(),
                clock: Clock::new(),
                is_asleep: false,
                ended: false,
                closed: false,
            }),
            ready: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Adds the line of `time`; `rest` appends its text behind the time. Waits while there is no room. `is_last`: no line is taken
    /// behind it. `false` when no line is taken any more.
    ///
    /// # Errors
    /// The error of `rest`. Nothing is added then.
    pub(crate) fn push_line<E>(
        &self,
        time: Timestamp,
        is_last: bool,
        rest: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let free = match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match free.filter(|state| !state.is_full()) {
            Some(state) => self.add(state, |state| state.add_line(time, is_last, rest)),
            None => with_room(|room| {
                rest(room)?;
                let full = |state: &mut State| state.is_full();
                let waited = self.room.wait_while(self.lock(), full);
                let state = waited.unwrap_or_else(PoisonError::into_inner);
                self.add(state, |state| {
                    state.add_line(time, is_last, |lines| {
                        lines.extend_from_slice(room);
                        Ok(())
                    })
                })
            }),
        }
    }

    /// Adds a flush, which waits for the lines before it. `false` when the thread has ended.
    pub(crate) fn push_flush(&self, flush: Flush) -> bool {
        let Ok(added) = self.add(self.lock(), |state| {
            state.batch.flushes.push(flush);
            Ok::<(), Infallible>(())
        });
        added
    }

    /// Adds something, and wakes the thread where that is news for it.
    fn add<E>(
        &self,
        mut state: MutexGuard<'_, State>,
        add: impl FnOnce(&mut State) -> Result<(), E>,
    ) -> Result<bool, E> {
        if state.is_closing() {
            return Ok(false);
        }
        let was_worth_taking = state.is_worth_taking();
        add(&mut state)?;
        let news = state.is_asleep || state.is_worth_taking() != was_worth_taking;
        state.is_asleep = false;
        drop(state);
        if news {
            self.ready.notify_one();
        }
        Ok(true)
    }

    /// Puts all that is there in the place of what `batch` held. Waits for something, `wait` at most if that is given; `batch`
    /// is empty when nothing came.
    pub(crate) fn take(&self, batch: &mut Batch, wait: Option<Duration>) {
        batch.clear();
        // While lines keep coming there is no waiting for a first one: nobody has to wake the thread for it.
        let first = wait.map_or(GATHER, |wait| wait.min(GATHER));
        let mut state = self.gather(self.lock(), first);
        if state.is_idle() && wait != Some(first) {
            state = self.sleep(state, wait.map(|wait| wait.saturating_sub(first)));
            if !state.is_idle() {
                state = self.gather(state, GATHER);
            }
        }
        std::mem::swap(&mut state.batch, batch);
        batch.is_last = state.ended;
        drop(state);
        self.room.notify_all();
    }

    /// Lets lines come for `time`, or until there is enough or somebody waits.
    fn gather<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let few = |state: &mut State| !state.is_worth_taking();
        let waited = self.ready.wait_timeout_while(state, time, few);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until something is there, `wait` at most if that is given.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        wait: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        state.is_asleep = true;
        let idle = |state: &mut State| state.is_idle();
        let mut state = match wait {
            None => self
                .ready
                .wait_while(state, idle)
                .unwrap_or_else(PoisonError::into_inner),
            Some(wait) => {
                let waited = self.ready.wait_timeout_while(state, wait, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.is_asleep = false;
        state
    }

    /// Lets go of all that is there and of all that comes, and wakes everybody.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.batch = Batch::default();
        drop(state);
        self.room.notify_all();
        self.ready.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the queue when the thread ends, by a panic too: nobody waits for a thread that is gone.
pub(crate) struct CloseAtEnd<'a>(pub(crate) &'a Queue);

impl Drop for CloseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests;
