//! The journals of a run: one file for each benchmark.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use journal::{
    Form, ItemTurns, JournalWriter, RunId,
    check::{self, Outcome, Report, Verdict},
};
use schema::{Event, Journal};

use store::{BenchmarkDir, PipelineError, check::check_tree};

/// The journal files of a run, which are made in the folder of its records: one for each benchmark, since checkers of these
/// journals want exactly one benchmark in a file.
///
/// It is a [`Journal`]: give it to the models, to the phases and, by [`Pipeline::journals`](crate::Pipeline::journals), to the
/// pipeline, which opens and closes the files. The first file has the run's own id, each further one the time of its start.
/// Events that come while no file is open are not kept.
#[derive(Debug)]
pub struct RunJournals {
    folder: PathBuf,
    form: Form,
    current: RwLock<Option<Arc<Open>>>,
    /// Why a journal that is closed is not complete.
    incomplete: OnceLock<String>,
}

/// The file that is written now.
struct Open(ItemTurns<JournalWriter>);

impl Open {
    fn path(&self) -> &Path {
        self.0.inner().path()
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Open").field(&self.path()).finish()
    }
}

impl RunJournals {
    /// Journals in `folder`, which is made when the first one is.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            form: Form::Plain,
            current: RwLock::default(),
            incomplete: OnceLock::new(),
        }
    }

    /// Writes files of this form: plain text, or compressed.
    #[must_use]
    pub fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// The folder that the files lie in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why events are being lost or were, if that is so: a full disk, for one.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let now = || Some(self.current()?.0.inner().check().err()?.to_string());
        self.incomplete.get().cloned().or_else(now)
    }

    /// Opens the journal of `id`.
    pub(crate) fn open(&self, id: &RunId) -> Result<(), PipelineError> {
        fs::create_dir_all(&self.folder)
            .map_err(|error| PipelineError::write(&self.folder, error))?;
        let writer = JournalWriter::create_as(&self.folder, id, self.form)
            .map_err(|error| PipelineError::output(error.to_string()).with_source(error))?;
        *self.slot() = Some(Arc::new(Open(ItemTurns::new(writer))));
        Ok(())
    }

    /// Waits until what was recorded is on the disk. What is lost shows in [`trouble`](Self::trouble) and at the end.
    pub(crate) async fn sync(&self) {
        if let Some(open) = self.current() {
            let synced = tokio::task::spawn_blocking(move || open.0.inner().sync()).await;
            if let Ok(Err(error)) = synced {
                tracing::debug!(%error, "the journal cannot be synced");
            }
        }
    }

    /// Closes the open journal: its path, and why it is not complete where it is not. Takes as long as writing the rest does.
    pub(crate) async fn close(&self) -> Option<(PathBuf, Option<String>)> {
        let open = self.slot().take()?;
        let path = open.path().to_owned();
        let closed = tokio::task::spawn_blocking(move || {
            open.0.release();
            open.0.inner().close()
        })
        .await;
        let (text, reason) = match closed {
            Ok(Ok(_)) => return Some((path, None)),
            Ok(Err(error)) => (error.to_string(), error.reason()),
            Err(error) => (error.to_string(), error.to_string()),
        };
        let _ = self.incomplete.set(text);
        Some((path, Some(reason)))
    }

    fn current(&self) -> Option<Arc<Open>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    fn slot(&self) -> std::sync::RwLockWriteGuard<'_, Option<Arc<Open>>> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for RunJournals {
    fn record(&self, event: Event) {
        if let Some(open) = self.current() {
            open.0.record(event);
        }
    }
}

/// The journal of one benchmark's run, and what checking it said.
#[derive(Debug)]
pub struct JournalEnd {
    /// The file.
    pub path: PathBuf,
    /// Why it is not complete, where it is not: a full disk, for one. It does not name the file.
    pub trouble: Option<String>,
    /// What the rules of journals, and those between journal and tree, say of it.
    pub check: Report,
}

impl JournalEnd {
    /// Checks the journal at `path` over the tree of `dir`.
    pub(crate) async fn of(path: PathBuf, trouble: Option<String>, dir: BenchmarkDir) -> Self {
        let journal = path.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let mut report = check::check(&journal);
            check_tree(&journal, &dir, &mut report);
            report
        });
        let check = checked.await.unwrap_or_else(|error| {
            let mut report = Report::new(path.display().to_string());
            report.set_not_checkable(format!("internal error: {error}"));
            report
        });
        Self {
            path,
            trouble,
            check,
        }
    }

    /// What the check said, in one line: `the journal passes all 14 rules that apply`.
    #[must_use]
    pub fn verdict(&self) -> String {
        let count = |outcome| {
            let rows = self.check.rows.iter();
            rows.filter(|row| row.outcome == outcome).count()
        };
        if let Some(trouble) = &self.trouble {
            return format!("the journal is not complete: {trouble}");
        }
        match self.check.verdict() {
            Verdict::Passed => {
                let passed = count(Outcome::Passed);
                format!("the journal passes all {passed} rules that apply")
            }
            Verdict::Failed => {
                let failed = self.check.rows.iter();
                let names: Vec<&str> = failed
                    .filter(|row| row.outcome == Outcome::Failed)
                    .map(|row| &*row.rule)
                    .collect();
                format!("the journal fails {}", names.join(", "))
            }
            Verdict::NotCheckable(reason) => format!("the journal cannot be checked: {reason}"),
        }
    }
}
