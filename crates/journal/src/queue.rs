//! The bounded queue between those who record and the thread that writes.
//!
//! A channel hands over one event at a time: when it is full, the two sides wake each other once per event. Here the
//! thread takes all that has come together, so that a wake-up is paid for once per batch.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Duration,
};

use jiff::Timestamp;
use schema::Event;

/// How many commands wait at most. As many again may be in the hands of the thread.
const CAPACITY: usize = 1024;
/// How long the thread lets a batch grow after its first event, unless half the queue is full or somebody waits. With what a
/// line may wait before it is written, it stays below the second that is promised.
const GATHER: Duration = Duration::from_millis(100);

/// What the thread is told.
pub(crate) enum Command {
    Event(Timestamp, Event),
    Flush { sync: bool, done: SyncSender<()> },
    Close,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Told when the thread has something to do.
    ready: Condvar,
    /// Told when there is room.
    room: Condvar,
}

#[derive(Default)]
struct State {
    commands: Vec<Command>,
    /// Somebody waits for what is in the queue.
    urgent: bool,
    closed: bool,
}

impl State {
    fn is_worth_taking(&self) -> bool {
        self.urgent || self.closed || self.commands.len() >= CAPACITY / 2
    }
}

impl Queue {
    /// Adds `command`; waits while the queue is full. `false` when it is closed, and `command` is gone.
    pub(crate) fn push(&self, command: Command) -> bool {
        let full = |state: &mut State| state.commands.len() >= CAPACITY && !state.closed;
        let state = self.room.wait_while(self.lock(), full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return false;
        }
        let was_worth_taking = state.is_worth_taking();
        state.urgent |= !matches!(command, Command::Event(..));
        state.commands.push(command);
        let news = state.commands.len() == 1 || state.is_worth_taking() != was_worth_taking;
        drop(state);
        if news {
            self.ready.notify_one();
        }
        true
    }

    /// Takes all that is there into `batch`, which is empty. Waits for something, `wait` at most if that is given; `batch`
    /// stays empty when nothing came.
    pub(crate) fn take(&self, batch: &mut Vec<Command>, wait: Option<Duration>) {
        let nothing = |state: &mut State| state.commands.is_empty() && !state.closed;
        let mut state = match wait {
            None => self
                .ready
                .wait_while(self.lock(), nothing)
                .unwrap_or_else(PoisonError::into_inner),
            Some(wait) => {
                let waited = self.ready.wait_timeout_while(self.lock(), wait, nothing);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if !state.commands.is_empty() {
            let few = |state: &mut State| !state.is_worth_taking();
            let waited = self.ready.wait_timeout_while(state, GATHER, few);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut state.commands, batch);
        state.urgent = false;
        drop(state);
        self.room.notify_all();
    }

    /// Lets go of all that is there and of all that comes, and wakes everybody.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.commands = Vec::new();
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

    fn event() -> Command {
        Command::Event(Timestamp::UNIX_EPOCH, Event::new("m", "c", "m"))
    }

    #[test]
    fn a_full_queue_makes_callers_wait_and_nothing_is_dropped() {
        let queue = Arc::new(Queue::default());
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || (0..2 * CAPACITY).all(|_| queue.push(event())))
            })
            .collect();
        let (mut taken, mut batch) = (0, Vec::new());
        while taken < 8 * CAPACITY {
            queue.take(&mut batch, None);
            assert!(batch.len() <= CAPACITY);
            taken += batch.drain(..).count();
        }
        assert!(callers.into_iter().all(|caller| caller.join().unwrap()));
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let queue = Arc::new(Queue::default());
        let end = Arc::clone(&queue);
        let thread = thread::spawn(move || {
            let _close = CloseAtEnd(&end);
            end.take(&mut Vec::new(), None);
            panic!("a fault in the program (this test wants it)");
        });
        let pushed = (0..10 * CAPACITY)
            .take_while(|_| queue.push(event()))
            .count();
        assert!(thread.join().is_err());
        assert!(pushed < 10 * CAPACITY);
        assert!(!queue.push(event()));
    }

    #[test]
    fn waiting_ends_without_events_when_the_time_is_over() {
        let mut batch = Vec::new();
        Queue::default().take(&mut batch, Some(Duration::ZERO));
        assert!(batch.is_empty());
    }
}
