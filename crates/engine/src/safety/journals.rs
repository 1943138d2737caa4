//! The journals of a safety run: one file for each target.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use journal::{Form, ItemTurns, JournalWriter, RunId, check};
use schema::{Event, Journal, ModelId};

use crate::journals::JournalEnd;
use store::PipelineError;

/// The journal files of a safety run, in the folder of its records: one for each target, since targets are given prompts of their
/// own, and the rules of journals want all systems under test of a file to be asked the same.
///
/// It is a [`Journal`]: give it to the models, and by [`SafetyRun::journals`](super::SafetyRun::journals) to the run, which opens
/// and closes the files. Events go to the file of their item's target; those without an item to the first file. The first file has
/// the run's own id, each further one a time of its start.
#[derive(Debug)]
pub struct SafetyJournals {
    folder: PathBuf,
    form: Form,
    open: RwLock<Vec<(ModelId, Arc<Open>)>>,
    incomplete: OnceLock<String>,
}

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

impl SafetyJournals {
    /// Journals in `folder`, which is made when the first one is.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            form: Form::Plain,
            open: RwLock::default(),
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
        let now = || {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            let mut troubles = open.iter().map(|(_, open)| open.0.inner().check());
            troubles.find_map(|check| Some(check.err()?.to_string()))
        };
        self.incomplete.get().cloned().or_else(now)
    }

    /// Opens a file for each of `suts`. Gives their ids.
    pub(super) fn open<'a>(
        &self,
        first: &RunId,
        suts: impl IntoIterator<Item = &'a ModelId>,
    ) -> Result<BTreeMap<ModelId, RunId>, PipelineError> {
        fs::create_dir_all(&self.folder)
            .map_err(|error| PipelineError::write(&self.folder, error))?;
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
            let writer = JournalWriter::create_as(&self.folder, &id, self.form)
                .map_err(|error| PipelineError::output(error.to_string()).with_source(error))?;
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            open.push((sut.clone(), Arc::new(Open(ItemTurns::new(writer)))));
            ids.insert(sut.clone(), id);
        }
        Ok(ids)
    }

    /// The journal of one target.
    pub(super) fn of_sut(&self, sut: &ModelId) -> Arc<dyn Journal> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        match open.iter().find(|(id, _)| id == sut) {
            Some((_, open)) => Arc::clone(open) as _,
            None => Arc::new(schema::NoJournal),
        }
    }

    /// Closes all files, and checks them.
    pub(super) async fn close(&self) -> BTreeMap<ModelId, JournalEnd> {
        let open = {
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *open)
        };
        let mut ends = BTreeMap::new();
        for (sut, open) in open {
            let path = open.path().to_owned();
            let closing = tokio::task::spawn_blocking(move || {
                open.0.release();
                let error = open.0.inner().close().err();
                (error, check::check(open.path()))
            });
            let (error, check) = closing.await.unwrap_or_else(|error| {
                let mut check = check::Report::new(path.display().to_string());
                check.set_not_checkable(format!("internal error: {error}"));
                (None, check)
            });
            if let Some(error) = &error {
                let _ = self.incomplete.set(error.to_string());
            }
            let trouble = error.map(|error| error.reason());
            let end = JournalEnd {
                path,
                trouble,
                check,
            };
            ends.insert(sut, end);
        }
        ends
    }
}

impl Journal for Open {
    fn record(&self, event: Event) {
        self.0.record(event);
    }
}

impl Journal for SafetyJournals {
    fn record(&self, event: Event) {
        let open = {
            let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
            let sut = event.item.as_ref().map(|item| &*item.sut);
            let own = open.iter().find(|(id, _)| Some(id.as_str()) == sut);
            own.or(open.first()).map(|(_, open)| Arc::clone(open))
        };
        if let Some(open) = open {
            open.0.record(event);
        }
    }
}
