//! The journal files of a run.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use crate::progress::{Observer, Progress};
use journal::{
    Form, ItemTurns, JournalVisitor, JournalVisitors, JournalWriter, RunId,
    check::{Outcome, Report, Verdict},
};
use schema::{Event, Journal, ModelId};
use store::{BenchmarkDir, EarlierJournals, RunError, check::check_ended_run};

/// The journal files of a run, in the folder of its records. Checkers of these journals expect one benchmark in a file, and the same
/// requests to all its systems under test. A benchmark run therefore writes one file for each benchmark, and a safety evaluation one for
/// each target.
///
/// It is a [`Journal`], which [`Session::with_journals`](crate::Session::with_journals) passes to everything that records. Recipes open
/// and close the files. The first file has the run's id as its name, each further one the time of its start. Events of an item go to the
/// file of its target if there is one; all others go to the first file. Events recorded while no file is open are discarded.
#[derive(Debug)]
pub struct JournalSet {
    folder: PathBuf,
    form: Form,
    open: RwLock<Vec<OpenJournal>>,
    /// Why a closed journal is incomplete.
    incomplete: OnceLock<String>,
    /// Who else reads the finished files.
    visitors: Option<Arc<dyn JournalVisitors>>,
}

/// A file that is being written.
#[derive(Clone)]
struct OpenJournal {
    /// The target that the file belongs to.
    sut: Option<ModelId>,
    turns: Arc<ItemTurns<JournalWriter>>,
}

/// A file that was written and closed.
pub(crate) struct ClosedJournal {
    /// The target that the file belongs to.
    pub(crate) sut: Option<ModelId>,
    pub(crate) path: PathBuf,
    /// Why it is incomplete. The text does not name the file.
    pub(crate) trouble: Option<String>,
}

impl OpenJournal {
    fn path(&self) -> &Path {
        self.turns.inner().path()
    }
}

impl std::fmt::Debug for OpenJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenJournal").field(&self.path()).finish()
    }
}

impl JournalSet {
    /// Journals in `folder`. The folder is created with the first journal.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            form: Form::Plain,
            open: RwLock::default(),
            incomplete: OnceLock::new(),
            visitors: None,
        }
    }

    /// Sets the form of the files: plain text or compressed.
    #[must_use]
    pub fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// Sets who else reads each file when it is finished: in the same pass as the check, since reading a large journal takes seconds.
    #[must_use]
    pub fn read_by(mut self, visitors: Arc<dyn JournalVisitors>) -> Self {
        self.visitors = Some(visitors);
        self
    }

    /// The folder that holds the files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why events are being lost or were lost, if any: a full disk, for example.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let now = || {
            let open = self.now_open();
            let mut checks = open.iter().map(|open| open.turns.inner().check());
            checks.find_map(|check| Some(check.err()?.to_string()))
        };
        self.incomplete.get().cloned().or_else(now)
    }

    /// Opens the file `id` of the benchmark in the folder `benchmark`. Rows that come whole from the cache refer to the journals of earlier
    /// runs of it, where these have them. `runs` is the folder with the records of all runs: files elsewhere are written whole.
    pub(crate) fn open_benchmark(
        &self,
        id: &RunId,
        benchmark: &str,
        runs: &Path,
    ) -> Result<(), RunError> {
        let is_among_runs = self.folder.parent() == Some(runs);
        self.open_with(id, None, |turns| match is_among_runs {
            true => {
                let earlier = EarlierJournals::new(runs, benchmark, id.clone());
                turns.with_earlier(Arc::new(earlier))
            }
            false => turns,
        })
    }

    /// Opens the file `id`, for one target or for all.
    pub(crate) fn open(&self, id: &RunId, sut: Option<&ModelId>) -> Result<(), RunError> {
        self.open_with(id, sut, |turns| turns)
    }

    fn open_with(
        &self,
        id: &RunId,
        sut: Option<&ModelId>,
        set: impl FnOnce(ItemTurns<JournalWriter>) -> ItemTurns<JournalWriter>,
    ) -> Result<(), RunError> {
        fs::create_dir_all(&self.folder).map_err(|error| RunError::write(&self.folder, error))?;
        let writer = JournalWriter::create_as(&self.folder, id, self.form)
            .map_err(|error| RunError::output(error.to_string()).with_source(error))?;
        let open = OpenJournal {
            sut: sut.cloned(),
            turns: Arc::new(set(ItemTurns::new(writer))),
        };
        self.open
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(open);
        Ok(())
    }

    /// Opens a file for each of `suts`. Returns their ids.
    pub(crate) fn open_each<'a>(
        &self,
        first: &RunId,
        suts: impl IntoIterator<Item = &'a ModelId>,
    ) -> Result<BTreeMap<ModelId, RunId>, RunError> {
        let mut ids: BTreeMap<ModelId, RunId> = BTreeMap::new();
        for sut in suts {
            let mut id = match ids.is_empty() {
                true => first.clone(),
                false => RunId::now(),
            };
            while ids.values().any(|taken| *taken == id) {
                std::thread::sleep(std::time::Duration::from_micros(1));
                id = RunId::now();
            }
            self.open(&id, Some(sut))?;
            ids.insert(sut.clone(), id);
        }
        Ok(ids)
    }

    /// The journal of one target.
    pub(crate) fn of_sut(&self, sut: &ModelId) -> Arc<dyn Journal> {
        let open = self.now_open().into_iter();
        let mut own = open.filter(|open| open.sut.as_ref() == Some(sut));
        match own.next() {
            Some(open) => open.turns as _,
            None => Arc::new(schema::NoJournal),
        }
    }

    /// Waits until the recorded events are on the disk. Losses show in [`trouble`](Self::trouble) and at the end.
    pub(crate) async fn sync(&self) {
        for open in self.now_open() {
            let synced = tokio::task::spawn_blocking(move || open.turns.inner().sync()).await;
            if let Ok(Err(error)) = synced {
                tracing::debug!(%error, "the journal cannot be synced");
            }
        }
    }

    /// Closes the open files. Waits until the remaining events are written.
    pub(crate) async fn close(&self) -> Vec<ClosedJournal> {
        let open = std::mem::take(&mut *self.open.write().unwrap_or_else(PoisonError::into_inner));
        let mut all = Vec::new();
        for open in open {
            let (sut, path) = (open.sut.clone(), open.path().to_owned());
            let closing = tokio::task::spawn_blocking(move || {
                open.turns.release();
                open.turns.inner().close()
            });
            let (trouble, whole) = match closing.await {
                Ok(Ok(_)) => (None, None),
                Ok(Err(error)) => (Some(error.reason()), Some(error.to_string())),
                Err(error) => (Some(error.to_string()), Some(error.to_string())),
            };
            if let Some(whole) = whole {
                let _ = self.incomplete.set(whole);
            }
            all.push(ClosedJournal { sut, path, trouble });
        }
        all
    }

    /// Reads a closed file: checks it, and with `dir` compares it with its tree. Reports to `observer` that it does.
    pub(crate) async fn read(
        &self,
        closed: ClosedJournal,
        dir: Option<BenchmarkDir>,
        observer: &dyn Observer,
    ) -> JournalEnd {
        let path = &closed.path;
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        observer.on(&Progress::ReadingJournal { path, bytes });
        let visitors = self.visitors.as_ref();
        let visitor = visitors.and_then(|visitors| visitors.visitor(path));
        JournalEnd::of(closed, dir, visitor).await
    }

    fn now_open(&self) -> Vec<OpenJournal> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone()
    }
}

impl Journal for JournalSet {
    fn record(&self, event: Event) {
        let open = {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            let sut = event.item.as_ref().map(|item| &*item.sut);
            let own = open
                .iter()
                .find(|open| open.sut.is_some() && open.sut.as_ref().map(ModelId::as_str) == sut);
            own.or(open.first()).map(|open| Arc::clone(&open.turns))
        };
        if let Some(open) = open {
            open.record(event);
        }
    }
}

/// A journal of a run, and the result of its check.
#[derive(Debug)]
pub struct JournalEnd {
    /// The file.
    pub path: PathBuf,
    /// Why it is incomplete, if it is: a full disk, for example. The text does not name the file.
    pub trouble: Option<String>,
    /// The result of the rules of journals, and of the rules between journal and tree.
    pub check: Report,
}

impl JournalEnd {
    /// Checks a closed journal, and with `dir` also compares it with its tree. The file is read once, also for `visitor`.
    async fn of(
        closed: ClosedJournal,
        dir: Option<BenchmarkDir>,
        visitor: Option<Box<dyn JournalVisitor>>,
    ) -> Self {
        let ClosedJournal { path, trouble, .. } = closed;
        let journal = path.clone();
        let checked =
            tokio::task::spawn_blocking(move || check_ended_run(&journal, dir.as_ref(), visitor));
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

    /// Whether a rule of the check does not hold.
    #[must_use]
    pub fn fails(&self) -> bool {
        matches!(self.check.verdict(), Verdict::Failed)
    }

    /// The result of the check in one line: `the journal passes all 14 rules that apply`.
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
                match passed {
                    1 => "the journal passes the one rule that applies".to_owned(),
                    passed => format!("the journal passes all {passed} rules that apply"),
                }
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
