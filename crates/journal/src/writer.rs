//! The journal that Probity records into.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc},
    thread::{self, JoinHandle},
};

use jiff::Timestamp;
use schema::{
    Event, EventBody, Journal,
    event::{ClosingJournal, StartingJournal},
};

use crate::{
    Form, RunId,
    appender::{Appender, Progress},
    error::{JournalError, Missing, WriteFault},
    line,
    output::{Output, Sink, Syncer},
    queue::{Flush, Queue},
    version::FORMAT_VERSION,
};

/// Appends events to a journal file. Share it by `Arc`; any thread may record.
///
/// `record` takes the time and creates the line; one thread of the journal writes the lines. Nothing is dropped while the
/// file can be written: when the thread is too slow, `record` waits.
///
/// Dropping it closes it.
pub struct JournalWriter {
    queue: Arc<Queue>,
    progress: Arc<Progress>,
    /// `None` once the journal is closed.
    thread: Mutex<Option<JoinHandle<()>>>,
    path: PathBuf,
}

/// A completed journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalReport {
    /// The file.
    pub path: PathBuf,
    /// Events in it, "starting journal" and "closing journal" included.
    pub written: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl JournalWriter {
    /// Creates `journal-<run id>.jsonl` in the existing folder `dir`, and writes "starting journal".
    ///
    /// # Errors
    /// See [`create_as`](Self::create_as).
    pub fn create(dir: &Path, run_id: &RunId) -> Result<Self, JournalError> {
        Self::create_as(dir, run_id, Form::Plain)
    }

    /// Like [`create`](Self::create), in the format `form`, which determines the file's extension.
    ///
    /// # Errors
    /// When the file cannot be created or already exists, or no thread can be started.
    pub fn create_as(dir: &Path, run_id: &RunId, form: Form) -> Result<Self, JournalError> {
        let path = dir.join(run_id.journal_file_name_as(form));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Self::start(Sink::file(file), form, path),
            Err(error) => Err(JournalError::from(WriteFault::Create {
                name: path.display().to_string(),
                reason: error.to_string(),
            })),
        }
    }

    /// Appends to `output` instead of a file. `name` is used in errors, and [`path`](Self::path) returns it.
    ///
    /// `output` gets large pieces of whole lines, so it needs no buffer.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn over(
        output: impl Write + Send + 'static,
        name: impl Into<PathBuf>,
    ) -> Result<Self, JournalError> {
        Self::over_as(output, name, Form::Plain)
    }

    /// Like [`over`](Self::over), in the format `form`.
    ///
    /// # Errors
    /// See [`over`](Self::over).
    pub fn over_as(
        output: impl Write + Send + 'static,
        name: impl Into<PathBuf>,
        form: Form,
    ) -> Result<Self, JournalError> {
        Self::start(Sink::other(Box::new(output)), form, name.into())
    }

    fn start(sink: Sink, form: Form, path: PathBuf) -> Result<Self, JournalError> {
        let name = path.display().to_string();
        let progress = Arc::new(Progress::default());
        let queue = Arc::new(Queue::new());
        let end = Arc::clone(&queue);
        let fault = |error: io::Error| WriteFault::Start {
            name: name.clone(),
            reason: error.to_string(),
        };
        let again = sink.file_again().map_err(fault)?;
        let start_syncer = |file| Syncer::start(file, name.clone(), Arc::clone(&progress));
        let syncer = again.map(start_syncer).transpose().map_err(fault)?;
        let output = Output::new(sink, form).map_err(fault)?;
        let appender = Appender::new(output, syncer, name.clone(), Arc::clone(&progress));
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || appender.run(&end))
            .map_err(fault)?;
        let journal = Self {
            queue,
            progress,
            thread: Mutex::new(Some(thread)),
            path,
        };
        journal.record(Event::new(EventBody::StartingJournal(StartingJournal {
            format_version: Some(FORMAT_VERSION.into()),
        })));
        Ok(journal)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all recorded events are passed to the operating system, so that they survive when the process is killed.
    /// Blocks while they are written.
    ///
    /// # Errors
    /// When the journal could not be written, now or earlier, or is closed.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.wait_for_lines(false)
    }

    /// Waits until all recorded events are on the disk, so that they survive a crash of the machine. Takes milliseconds or
    /// more: meant for the end of a phase.
    ///
    /// # Errors
    /// See [`flush`](Self::flush).
    pub fn sync(&self) -> Result<(), JournalError> {
        self.wait_for_lines(true)
    }

    fn wait_for_lines(&self, sync: bool) -> Result<(), JournalError> {
        let (done, wait) = mpsc::sync_channel(1);
        let answered = self.queue.push_flush(Flush { sync, done }) && wait.recv().is_ok();
        self.check()?;
        if answered {
            Ok(())
        } else {
            Err(JournalError::from(WriteFault::Closed { name: self.name() }))
        }
    }

    /// Why events are being lost, if they are: a full disk, for example. Cheap, so a run can call it regularly.
    ///
    /// # Errors
    /// When a write failed. The counts in the error are the current ones.
    pub fn check(&self) -> Result<(), JournalError> {
        match self.progress.failure.get() {
            None => Ok(()),
            Some(reason) => Err(self.incomplete(reason.clone())),
        }
    }

    /// Writes "closing journal", waits until everything is on the disk, and closes. Events recorded later are lost. A
    /// second call returns the same result.
    ///
    /// # Errors
    /// When an event is missing in the file. Earlier events remain readable.
    pub fn close(&self) -> Result<JournalReport, JournalError> {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut stopped = None;
        if let Some(thread) = thread {
            let closing = Event::new(EventBody::ClosingJournal(ClosingJournal {}));
            self.append(&closing, true);
            if thread.join().is_err() {
                stopped = Some("the thread that writes it stopped by a fault in the program");
            }
        }
        self.check()?;
        if let Some(reason) = stopped {
            return Err(self.incomplete(reason.to_owned()));
        }
        if self.lost() > 0 {
            let reason = "events could not be written as JSON, or came after it was closed";
            return Err(self.incomplete(reason.to_owned()));
        }
        Ok(JournalReport {
            path: self.path.clone(),
            written: self.progress.written.load(Ordering::Relaxed),
            bytes: self.progress.bytes.load(Ordering::Relaxed),
        })
    }

    /// Takes the time and passes the line of `event` to the thread, which ends after the last line.
    fn append(&self, event: &Event, is_last: bool) {
        self.progress.recorded.fetch_add(1, Ordering::Relaxed);
        let time = Timestamp::now();
        // The line is rejected only if the journal is closed or its thread has ended; the event then counts as lost.
        let rest = |line: &mut Vec<u8>| line::append_rest(line, event);
        if let Err(error) = self.queue.push_line(time, is_last, rest) {
            tracing::error!(
                journal = self.name(),
                message = event.message(),
                "an event cannot be written as JSON and is lost: {error}"
            );
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn lost(&self) -> u64 {
        let written = self.progress.written.load(Ordering::Relaxed);
        let recorded = self.progress.recorded.load(Ordering::Relaxed);
        recorded.saturating_sub(written)
    }

    fn incomplete(&self, reason: String) -> JournalError {
        JournalError::from(WriteFault::Incomplete {
            name: self.name(),
            missing: Missing {
                reason,
                written: self.progress.written.load(Ordering::Relaxed),
                lost: self.lost(),
            },
        })
    }
}

impl Journal for JournalWriter {
    fn record(&self, event: Event) {
        // After a failure nothing is written any more; the event is counted as recorded but never as written, and so as
        // lost.
        if self.progress.failure.get().is_some() {
            self.progress.recorded.fetch_add(1, Ordering::Relaxed);
        } else {
            self.append(&event, false);
        }
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        let open = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        // A failed write is already logged.
        if open && let Err(error) = self.close() {
            tracing::warn!("{error}");
        }
    }
}
