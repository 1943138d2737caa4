//! The queue of lines between the threads that record and the thread that writes.
//!
//! Lines wait as text in one buffer, which the writing thread takes as a whole and replaces by an empty one: nothing is allocated
//! on one thread and freed on the other, and there is one wake-up per batch. A line is written directly into the buffer, so that
//! its text is copied once; a thread that finds the buffer in use writes the line into a buffer of its own.

use std::{
    convert::Infallible,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError, mpsc::SyncSender},
    time::Duration,
};

use jiff::Timestamp;

use crate::{clock::Clock, line_buffer::with_line_buffer};

/// A line waits when this many bytes are queued before it. The writing thread may hold as many again.
const CAPACITY: usize = 1024 * 1024;
/// With this many bytes queued, the thread takes them at once.
const ENOUGH: usize = 512 * 1024;
/// A buffer that a long line has grown beyond this is freed.
const KEEP_BUFFER: usize = 2 * CAPACITY;
/// How long the thread lets a batch grow, unless there is enough text or a thread waits: waking up on an idle or busy processor
/// costs as much as writing a hundred lines. Together with the time that a line may wait in the output, it stays below the
/// promised second.
const GATHER: Duration = Duration::from_millis(300);

/// A request to wait until all earlier lines are passed to the operating system.
pub(crate) struct Flush {
    /// Whether to wait until they are on the disk.
    pub(crate) sync: bool,
    pub(crate) done: SyncSender<()>,
}

/// The content of one take. All of `lines` was queued before the rest.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<u8>,
    /// The number of lines.
    pub(crate) count: u64,
    pub(crate) flushes: Vec<Flush>,
    /// No more lines will follow.
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
    /// Notified when the writing thread has something to do.
    ready: Condvar,
    /// Notified when there is room.
    room: Condvar,
}

struct State {
    batch: Batch,
    clock: Clock,
    /// The thread sleeps until something is queued.
    is_asleep: bool,
    /// The last line was queued.
    ended: bool,
    /// The thread has ended.
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

    /// Adds a line at `time`; `rest` appends the text after the time.
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

    /// Adds a line at `time`; `rest` appends the text after the time. Waits while there is no room. `is_last`: no line is accepted
    /// after this one. Returns `false` if no line is accepted any more.
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
            None => with_line_buffer(|room| {
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

    /// Adds a flush request, which waits for the lines before it. Returns `false` if the thread has ended.
    pub(crate) fn push_flush(&self, flush: Flush) -> bool {
        let Ok(added) = self.add(self.lock(), |state| {
            state.batch.flushes.push(flush);
            Ok::<(), Infallible>(())
        });
        added
    }

    /// Adds to the batch, and wakes the thread if it sleeps or the batch has become worth taking.
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

    /// Replaces the content of `batch` by everything queued. Waits until something is queued, for at most `wait` if given; `batch`
    /// is empty if nothing arrived.
    pub(crate) fn take(&self, batch: &mut Batch, wait: Option<Duration>) {
        batch.clear();
        // While lines keep arriving, the thread does not sleep, and no other thread has to wake it.
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

    /// Lets lines accumulate for `time`, or until there is enough text or a thread waits.
    fn gather<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let few = |state: &mut State| !state.is_worth_taking();
        let waited = self.ready.wait_timeout_while(state, time, few);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until something is queued, for at most `wait` if given.
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

    /// Discards everything queued and everything that follows, and wakes all waiting threads.
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

/// Closes the queue when the thread ends, also by a panic, so that no other thread waits for it.
pub(crate) struct CloseAtEnd<'a>(pub(crate) &'a Queue);

impl Drop for CloseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests;
