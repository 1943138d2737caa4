//! The thread that makes lines and writes them.

use std::{
    io::{self, Write},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::SyncSender,
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use schema::Event;

use crate::{
    line,
    output::Output,
    queue::{CloseAtEnd, Command, Queue},
};

/// How long a line may wait in memory. With the time in the queue well below the second that is promised, so that a busy
/// machine can be late.
const FLUSH_AFTER: Duration = Duration::from_millis(400);
/// Lines are written when this many bytes have come together.
const WRITE_AT: usize = 64 * 1024;
/// A buffer that a long line has grown beyond this is given back.
const KEEP_BUFFER: usize = 1024 * 1024;

/// What is known of the journal from outside the thread.
#[derive(Default)]
pub(crate) struct Progress {
    /// Events given to the journal.
    pub(crate) recorded: AtomicU64,
    /// Events whose line is whole in the output.
    pub(crate) written: AtomicU64,
    /// Bytes in the output.
    pub(crate) bytes: AtomicU64,
    /// Why writing ended.
    pub(crate) failure: OnceLock<String>,
}

/// Lines on their way to the output.
pub(crate) struct Appender {
    output: Output,
    name: String,
    progress: Arc<Progress>,
    buffer: Vec<u8>,
    /// Lines in the buffer.
    lines: u64,
    /// When the oldest line in the buffer came there.
    since: Option<Instant>,
    /// The time of the last line.
    last: Timestamp,
}

impl Appender {
    pub(crate) fn new(output: Output, name: String, progress: Arc<Progress>) -> Self {
        Self {
            output,
            name,
            progress,
            buffer: Vec::with_capacity(2 * WRITE_AT),
            lines: 0,
            since: None,
            last: Timestamp::MIN,
        }
    }

    /// Writes what `queue` brings until it is told to close.
    pub(crate) fn run(mut self, queue: &Queue) {
        let _close = CloseAtEnd(queue);
        let mut batch = Vec::new();
        let mut open = true;
        while open {
            queue.take(&mut batch, self.wait());
            for command in batch.drain(..) {
                match command {
                    Command::Event(time, event) if open => self.append(time, &event),
                    Command::Flush { sync, done } => self.flush(sync, &done),
                    Command::Close => open = false,
                    // Recorded behind the end; it counts as lost.
                    Command::Event(..) => {}
                }
                if self.buffer.len() >= WRITE_AT {
                    self.write_out();
                }
            }
            if self.wait().is_some_and(|wait| wait.is_zero()) {
                self.write_out();
            }
        }
        self.write_out();
        self.sync();
    }

    fn flush(&mut self, sync: bool, done: &SyncSender<()>) {
        self.write_out();
        if sync {
            self.sync();
        }
        // Whoever asked may have gone; that is no fault.
        let _ = done.send(());
    }

    /// How long the lines in the buffer may still wait; `None` when there are none.
    fn wait(&self) -> Option<Duration> {
        self.since
            .map(|since| FLUSH_AFTER.saturating_sub(since.elapsed()))
    }

    fn failed(&self) -> bool {
        self.progress.failure.get().is_some()
    }

    fn append(&mut self, time: Timestamp, event: &Event) {
        if self.failed() {
            return;
        }
        // Threads that record at the same time may arrive here in the other order.
        self.last = self.last.max(time);
        if let Err(error) = line::append(&mut self.buffer, self.last, event) {
            tracing::error!(
                journal = self.name,
                message = event.message,
                "an event cannot be written as JSON and is lost: {error}"
            );
            return;
        }
        self.lines += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    /// Gives the buffer to the output.
    fn write_out(&mut self) {
        let mut done = 0;
        let mut result = Ok(());
        while let Some(rest) = self.buffer.get(done..).filter(|rest| !rest.is_empty()) {
            match self.output.write(rest) {
                Ok(0) => result = Err(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => result = Err(error),
            }
            if result.is_err() {
                break;
            }
        }
        let result = result.and_then(|()| self.output.flush());
        let whole_lines = match self.buffer.get(..done) {
            Some(written) if done < self.buffer.len() => count_lines(written),
            _ => self.lines,
        };
        self.progress
            .written
            .fetch_add(whole_lines, Ordering::Relaxed);
        self.progress
            .bytes
            .fetch_add(as_u64(done), Ordering::Relaxed);
        self.buffer.clear();
        self.lines = 0;
        self.buffer.shrink_to(KEEP_BUFFER);
        self.since = None;
        if let Err(error) = result {
            self.fail(&error);
        }
    }

    fn sync(&mut self) {
        if self.failed() {
            return;
        }
        if let Err(error) = self.output.sync() {
            // Pipes and some devices have nothing to sync.
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) {
                self.fail(&error);
            }
        }
    }

    /// Remembers the first error and tells of it once.
    fn fail(&self, error: &io::Error) {
        if self.progress.failure.set(error.to_string()).is_ok() {
            tracing::error!(
                journal = self.name,
                "the journal cannot be written; events from now on are lost: {error}"
            );
        }
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    as_u64(bytes.iter().filter(|byte| **byte == b'\n').count())
}

fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
