//! The lines on their way from those who record to the thread that writes.
//!
//! They wait as text in one buffer, which the thread takes as a whole and gives an empty one for: nothing is made on one side
//! and freed on the other, and a wake-up is paid for once per batch.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Duration,
};

use jiff::Timestamp;

use crate::clock::Clock;

/// A line waits when there is as much text before it. As much again may be in the hands of the thread.
const CAPACITY: usize = 1024 * 1024;
/// Text that is worth taking at once.
const ENOUGH: usize = 256 * 1024;
/// A buffer that a long line has grown beyond this is given back.
const KEEP_BUFFER: usize = 2 * CAPACITY;
/// How long the thread lets a batch grow after its first line, unless there is enough or somebody waits. With what a line may
/// wait in the output, it stays below the second that is promised.
const GATHER: Duration = Duration::from_millis(100);

/// Somebody who waits until all lines before are with the operating system.
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
    /// Told when the thread has something to do.
    ready: Condvar,
    /// Told when there is room.
    room: Condvar,
}

struct State {
    batch: Batch,
    clock: Clock,
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

    fn is_worth_taking(&self) -> bool {
        let enough = self.batch.lines.len() >= ENOUGH;
        enough || !self.batch.flushes.is_empty() || self.is_closing()
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                batch: Batch::default(),
                clock: Clock::new(),
                ended: false,
                closed: false,
            }),
            ready: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Adds the line of `time` with the text `rest` behind the time; waits while there is no room. `is_last`: no line is taken
    /// behind it. `false` when no line is taken any more.
    pub(crate) fn push_line(&self, time: Timestamp, rest: &[u8], is_last: bool) -> bool {
        let full = |state: &mut State| state.batch.lines.len() >= CAPACITY && !state.is_closing();
        let state = match self.room.wait_while(self.lock(), full) {
            Ok(state) => state,
            Err(poisoned) => poisoned.into_inner(),
        };
        self.add(state, |state| {
            let lines = &mut state.batch.lines;
            lines.extend_from_slice(state.clock.start_of_line(time));
            lines.extend_from_slice(rest);
            state.batch.count += 1;
            state.ended = is_last;
        })
    }

    /// Adds somebody who waits for the lines before. `false` when nobody would be told any more.
    pub(crate) fn push_flush(&self, flush: Flush) -> bool {
        self.add(self.lock(), |state| state.batch.flushes.push(flush))
    }

    /// Adds something, and wakes the thread where that is news for it.
    fn add(&self, mut state: MutexGuard<'_, State>, add: impl FnOnce(&mut State)) -> bool {
        if state.is_closing() {
            return false;
        }
        let (was_idle, was_worth_taking) = (state.is_idle(), state.is_worth_taking());
        add(&mut state);
        let news = was_idle || state.is_worth_taking() != was_worth_taking;
        drop(state);
        if news {
            self.ready.notify_one();
        }
        true
    }

    /// Puts all that is there in the place of what `batch` held. Waits for something, `wait` at most if that is given; `batch`
    /// is empty when nothing came.
    pub(crate) fn take(&self, batch: &mut Batch, wait: Option<Duration>) {
        batch.clear();
        let idle = |state: &mut State| state.is_idle();
        let mut state = match wait {
            None => self
                .ready
                .wait_while(self.lock(), idle)
                .unwrap_or_else(PoisonError::into_inner),
            Some(wait) => {
                let waited = self.ready.wait_timeout_while(self.lock(), wait, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if !state.is_idle() {
            let few = |state: &mut State| !state.is_worth_taking();
            let waited = self.ready.wait_timeout_while(state, GATHER, few);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut state.batch, batch);
        batch.is_last = state.ended;
        drop(state);
        self.room.notify_all();
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
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    /// Text of which a full queue holds some hundreds.
    const REST: [u8; 4096] = [b'a'; 4096];

    fn push(queue: &Queue) -> bool {
        queue.push_line(Timestamp::UNIX_EPOCH, &REST, false)
    }

    #[test]
    fn a_full_queue_makes_callers_wait_and_nothing_is_dropped() {
        const LINES: u64 = 1000;
        let queue = Arc::new(Queue::new());
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || (0..LINES).all(|_| push(&queue)))
            })
            .collect();
        let (mut taken, mut batch) = (0, Batch::default());
        while taken < 4 * LINES {
            queue.take(&mut batch, None);
            assert!(batch.lines.len() < CAPACITY + 2 * REST.len());
            let found = batch.lines.windows(2).filter(|two| two == b"{\"").count();
            assert_eq!(found as u64, batch.count);
            taken += batch.count;
        }
        assert!(callers.into_iter().all(|caller| caller.join().unwrap()));
    }

    #[test]
    fn a_line_of_any_length_is_taken() {
        let queue = Queue::new();
        let rest = vec![b'a'; 3 * CAPACITY];
        assert!(queue.push_line(Timestamp::UNIX_EPOCH, &rest, false));
        let mut batch = Batch::default();
        queue.take(&mut batch, None);
        assert!(batch.lines.ends_with(&rest) && batch.count == 1);
        // Its room is given back.
        queue.take(&mut batch, Some(Duration::ZERO));
        assert!(batch.count == 0 && batch.lines.is_empty());
        assert!(queue.lock().batch.lines.capacity() <= KEEP_BUFFER);
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let queue = Arc::new(Queue::new());
        let end = Arc::clone(&queue);
        let thread = thread::spawn(move || {
            let _close = CloseAtEnd(&end);
            end.take(&mut Batch::default(), None);
            panic!("a fault in the program (this test wants it)");
        });
        let most = 10 * CAPACITY / REST.len();
        let pushed = (0..most).take_while(|_| push(&queue)).count();
        assert!(thread.join().is_err());
        assert!(pushed < most);
        assert!(!push(&queue));
    }

    #[test]
    fn nothing_comes_behind_the_last_line() {
        let queue = Queue::new();
        assert!(queue.push_line(Timestamp::UNIX_EPOCH, b",\"first\"", false));
        assert!(queue.push_line(Timestamp::UNIX_EPOCH, b",\"last\"", true));
        assert!(!push(&queue));
        let mut batch = Batch::default();
        queue.take(&mut batch, None);
        assert!(batch.is_last && batch.count == 2);
        assert!(batch.lines.ends_with(b",\"last\""));
        assert!(!push(&queue));
    }

    #[test]
    fn waiting_ends_without_lines_when_the_time_is_over() {
        let mut batch = Batch::default();
        Queue::new().take(&mut batch, Some(Duration::ZERO));
        assert!(batch.lines.is_empty() && batch.count == 0 && !batch.is_last);
    }
}
