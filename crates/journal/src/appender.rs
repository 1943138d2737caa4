//! The thread that writes lines.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    output::{Output, Syncer},
    queue::{Batch, CloseAtEnd, Flush, Queue},
};

/// How long a line may wait in the output. Together with the time in the queue it stays well below the promised second, so
/// that a busy machine has a margin.
const FLUSH_AFTER: Duration = Duration::from_millis(300);
/// The time from a write to the request for a sync to disk.
const SYNC_AFTER: Duration = Duration::from_millis(900);

/// The state of the journal, shared with the thread.
#[derive(Default)]
pub(crate) struct Progress {
    /// Events that were passed to the journal.
    pub(crate) recorded: AtomicU64,
    /// Events whose line is complete in the output.
    pub(crate) written: AtomicU64,
    /// Bytes in the output.
    pub(crate) bytes: AtomicU64,
    /// Why writing stopped.
    pub(crate) failure: OnceLock<String>,
}

impl Progress {
    /// Keeps the first error and logs it.
    pub(crate) fn fail(&self, journal: &str, error: &io::Error) {
        if self.failure.set(error.to_string()).is_ok() {
            tracing::error!(
                journal,
                "the journal cannot be written; events from now on are lost: {error}"
            );
        }
    }

    /// Records the result of a sync.
    pub(crate) fn synced(&self, journal: &str, result: io::Result<()>) {
        match result {
            // Pipes and some devices cannot be synced.
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                self.fail(journal, &error);
            }
            _ => {}
        }
    }
}

/// Lines on their way to the output.
pub(crate) struct Appender {
    output: Output,
    syncer: Option<Syncer>,
    name: String,
    progress: Arc<Progress>,
    /// Lines that the output has taken but not settled.
    unsettled: u64,
    /// When the oldest unsettled line arrived.
    since: Option<Instant>,
    /// When the oldest bytes without a requested sync were written.
    written_at: Option<Instant>,
}

impl Appender {
    pub(crate) fn new(
        output: Output,
        syncer: Option<Syncer>,
        name: String,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            output,
            syncer,
            name,
            progress,
            unsettled: 0,
            since: None,
            written_at: None,
        }
    }

    /// Writes the lines of `queue` until the last one is written.
    pub(crate) fn run(mut self, queue: &Queue) {
        let _close = CloseAtEnd(queue);
        let mut batch = Batch::default();
        while !batch.is_last {
            queue.take(&mut batch, self.wait());
            self.write(&batch.lines, batch.count);
            for flush in batch.flushes.drain(..) {
                self.flush(&flush);
            }
            if left(self.since, FLUSH_AFTER).is_some_and(|left| left.is_zero()) {
                self.settle(false);
            }
            if left(self.written_at, SYNC_AFTER).is_some_and(|left| left.is_zero()) {
                self.request_sync();
            }
        }
        self.settle(true);
        self.sync();
        if let Some(syncer) = self.syncer.take() {
            syncer.end();
        }
    }

    fn flush(&mut self, flush: &Flush) {
        self.settle(flush.sync);
        if flush.sync {
            self.sync();
        }
        // The caller may have stopped waiting; this is not an error.
        let _ = flush.done.send(());
    }

    /// How long to wait for lines until something else is due; `None` if nothing is.
    fn wait(&self) -> Option<Duration> {
        let settle = left(self.since, FLUSH_AFTER);
        let sync = left(self.written_at, SYNC_AFTER);
        settle.into_iter().chain(sync).min()
    }

    fn failed(&self) -> bool {
        self.progress.failure.get().is_some()
    }

    /// Writes `lines`, `count` in number, to the output.
    fn write(&mut self, lines: &[u8], count: u64) {
        if lines.is_empty() || self.failed() {
            return;
        }
        self.since.get_or_insert_with(Instant::now);
        let (certain, result) = self.output.write(lines);
        let there = lines.get(..certain).unwrap_or_default();
        let whole = if certain == lines.len() {
            count
        } else {
            count_lines(there)
        };
        self.progress.written.fetch_add(whole, Ordering::Relaxed);
        if result.is_ok() {
            self.unsettled += count - whole;
        }
        self.wrote(result);
    }

    /// Passes all lines to the operating system.
    fn settle(&mut self, end_frame: bool) {
        self.since = None;
        if self.failed() {
            return;
        }
        let result = self.output.settle(end_frame);
        if result.is_ok() {
            let lines = std::mem::take(&mut self.unsettled);
            self.progress.written.fetch_add(lines, Ordering::Relaxed);
        }
        self.wrote(result);
    }

    /// Records the result of a write.
    fn wrote(&mut self, result: io::Result<()>) {
        let bytes = self.output.bytes();
        if self.progress.bytes.swap(bytes, Ordering::Relaxed) != bytes {
            self.written_at.get_or_insert_with(Instant::now);
        }
        if let Err(error) = result {
            self.progress.fail(&self.name, &error);
        }
    }

    /// Requests a sync without waiting for it.
    fn request_sync(&mut self) {
        let requested = match &self.syncer {
            Some(syncer) => syncer.request(),
            None => {
                self.sync();
                true
            }
        };
        // While an earlier request is pending, the next one is made later.
        self.written_at = if requested {
            None
        } else {
            Some(Instant::now())
        };
    }

    fn sync(&mut self) {
        if !self.failed() {
            self.progress.synced(&self.name, self.output.sync());
            self.written_at = None;
        }
    }
}

/// The rest of `time` since `since`; `None` if `since` is `None`.
fn left(since: Option<Instant>, time: Duration) -> Option<Duration> {
    since.map(|since| time.saturating_sub(since.elapsed()))
}

fn count_lines(bytes: &[u8]) -> u64 {
    as_u64(bytes.iter().filter(|byte| **byte == b'\n').count())
}

fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
