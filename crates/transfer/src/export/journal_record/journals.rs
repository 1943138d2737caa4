//! The journals that were already read.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use journal::{JournalSource, JournalVisitor, JournalVisitors, ReadError, Replay, Replayed};
use store::{DiskFile, RunError};

use super::{JournalRecord, SharedFile, file_state::FileState, lock, reading::Reading};
use crate::export::find::Head;

/// Journals that were already read. Clones share them.
///
/// Memory holds a few hundred bytes for each item; the data that journals report about it is in a temporary
/// file.
#[derive(Clone, Debug, Default)]
pub struct Journals(pub(super) Arc<Mutex<KeptJournals>>);

#[derive(Debug, Default)]
pub(super) struct KeptJournals {
    /// The beginnings of the journals that have one.
    heads: HashMap<PathBuf, Arc<Head>>,
    pub(super) records: HashMap<PathBuf, Arc<JournalRecord>>,
    /// The journals that were read since the last [`Journals::forget_unused`].
    used: BTreeSet<PathBuf>,
    items: Option<SharedFile>,
}

impl Journals {
    /// The current content of the journal at `path`.
    ///
    /// # Errors
    /// When the temporary folder cannot be used. Problems of the journal are in its notes.
    pub(in crate::export) fn read(&self, path: &Path) -> Result<Arc<JournalRecord>, RunError> {
        let record = self.record(path)?;
        record.read_on()?;
        Ok(record)
    }

    /// The beginning of the run of the journal at `path`; `None` if the journal does not have it.
    pub(in crate::export) fn head(&self, path: &Path) -> Option<Arc<Head>> {
        if let Some(head) = lock(&self.0).heads.get(path) {
            return Some(Arc::clone(head));
        }
        let head = Arc::new(Head::read(path)?);
        let known = Arc::clone(&head);
        lock(&self.0).heads.insert(path.to_owned(), known);
        Some(head)
    }

    /// The journal at `path` as far as it was read.
    fn record(&self, path: &Path) -> Result<Arc<JournalRecord>, RunError> {
        let mut kept = lock(&self.0);
        kept.used.insert(path.to_owned());
        if let Some(record) = kept.records.get(path) {
            return Ok(Arc::clone(record));
        }
        let items = match &kept.items {
            Some(items) => Arc::clone(items),
            None => Arc::new(Mutex::new(DiskFile::default())),
        };
        kept.items = Some(Arc::clone(&items));
        let record = Arc::new(JournalRecord {
            path: path.to_owned(),
            journals: Arc::downgrade(&self.0),
            items,
            reading: Mutex::default(),
        });
        kept.records.insert(path.to_owned(), Arc::clone(&record));
        Ok(record)
    }

    /// Drops the journals that were not read since the last call.
    pub fn forget_unused(&self) {
        let mut kept = lock(&self.0);
        let used = std::mem::take(&mut kept.used);
        kept.records.retain(|path, _| used.contains(path));
    }
}

/// The journals of a run are read in the pass that checks them, so that its report need not read them again.
impl JournalVisitors for Journals {
    fn visitor(&self, path: &Path) -> Option<Box<dyn JournalVisitor>> {
        // Without a temporary folder, the report reads the journal itself, and reports why it cannot.
        let record = self.record(path).ok()?;
        let reading = Reading {
            file: FileState::of(path).ok(),
            ..Reading::default()
        };
        Some(Box::new(RecordVisitor {
            record,
            reading: Some(reading),
        }))
    }
}

/// Fills a record in a pass over its journal that others share.
struct RecordVisitor {
    record: Arc<JournalRecord>,
    /// `None` after an error of the temporary folder.
    reading: Option<Reading>,
}

impl JournalVisitor for RecordVisitor {
    fn visit(&mut self, replayed: Result<Replayed<'_>, ReadError>) {
        if let Some(reading) = &mut self.reading
            && reading.add(replayed, &self.record).is_err()
        {
            self.reading = None;
        }
    }

    fn finish(self: Box<Self>, replay: Replay<JournalSource>) {
        if let Some(mut reading) = self.reading {
            reading.end(replay);
            self.record.write_index(&mut reading);
            *lock(&self.record.reading) = reading;
        }
    }
}
