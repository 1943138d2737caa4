//! Items that came whole from the cache: their scenarios and turns are in earlier journals.

use std::{
    collections::{BTreeSet, HashMap},
    fs::File,
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::Arc,
};

use journal::{ItemHistory, JournalReader, Replay, Scope};
use schema::{EventBody, ItemKey, JsonText, Turn, event::KeptIn};
use serde::{Deserialize, Serialize};

use super::{RebuildError, bad};
use crate::{RunError, find_journal};

/// What earlier journals have of the items of a journal. Memory holds their places only; they are in a temporary file.
pub(super) struct KeptItems {
    file: BufWriter<File>,
    length: u64,
    /// Where an item is in the file; `None` if no journal has it.
    places: HashMap<JournalPlace, Option<(u64, usize)>>,
}

/// A run, and a line of its journal.
type JournalPlace = (Arc<str>, u64);

/// An item of an earlier journal.
#[derive(Serialize, Deserialize)]
struct KeptItem {
    context: Option<JsonText>,
    transcript: Vec<Turn>,
}

impl KeptItems {
    /// Reads the items that the journal at `journal` refers to. `folder` takes a temporary file.
    pub(super) fn read(journal: &Path, folder: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::write(folder, error);
        let mut kept = Self {
            file: BufWriter::new(tempfile::tempfile_in(folder).map_err(failed)?),
            length: 0,
            places: HashMap::new(),
        };
        let mut runs: BTreeSet<Arc<str>> = BTreeSet::new();
        for place in references(journal) {
            runs.insert(Arc::clone(&place.run_id));
            kept.places.insert((place.run_id, place.line), None);
        }
        let records = journal.parent().and_then(Path::parent);
        for run in runs {
            if let Some(path) = records.and_then(|records| find_journal(records, &run)) {
                kept.read_journal(&path, &run).map_err(failed)?;
            }
        }
        Ok(kept)
    }

    /// Reads the items of the run `run`, whose journal is at `path`, as far as it can be read.
    fn read_journal(&mut self, path: &Path, run: &Arc<str>) -> std::io::Result<()> {
        let Ok(reader) = JournalReader::open(path) else {
            return Ok(());
        };
        let mut replay = Replay::new(reader);
        let mut queued: HashMap<ItemKey, u64> = HashMap::new();
        while let Some(replayed) = replay.next_event() {
            let Ok(replayed) = replayed else {
                continue;
            };
            let Scope::Item(key, item) = replayed.scope else {
                continue;
            };
            match replayed.event {
                Some(Ok(EventBody::QueuingItem(_))) => {
                    queued.insert(key, replayed.line.number);
                }
                Some(Ok(EventBody::ItemFinished(_) | EventBody::ItemFailed(_))) => {
                    let line = queued.remove(&key).unwrap_or_default();
                    self.put((Arc::clone(run), line), item)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn put(&mut self, place: JournalPlace, item: &mut ItemHistory) -> std::io::Result<()> {
        let Some(known) = self.places.get_mut(&place) else {
            return Ok(());
        };
        let text = serde_json::to_vec(&KeptItem {
            context: item.queued.context.take(),
            transcript: std::mem::take(&mut item.transcript),
        })?;
        self.file.write_all(&text)?;
        *known = Some((self.length, text.len()));
        self.length += text.len() as u64;
        Ok(())
    }

    /// Fills `item`, if it came whole from the cache.
    pub(super) fn fill(&mut self, item: &mut ItemHistory) -> Result<(), RebuildError> {
        let Some(kept) = &item.queued.kept else {
            return Ok(());
        };
        let place = self.places.get(&(Arc::clone(&kept.run_id), kept.line));
        let Some((start, length)) = place.copied().flatten() else {
            return Err(bad(format!(
                "its scenario and turns are in line {} of the journal of {}, which is not beside this one's or does not have it",
                kept.line, kept.run_id
            )));
        };
        let mut read = || -> std::io::Result<KeptItem> {
            self.file.seek(SeekFrom::Start(start))?;
            let mut text = vec![0; length];
            self.file.get_mut().read_exact(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        let found =
            read().map_err(|error| RunError::output(error.to_string()).with_source(error))?;
        (item.queued.context, item.transcript) = (found.context, found.transcript);
        Ok(())
    }
}

/// The places in other journals that the journal at `path` refers to, as far as it can be read.
fn references(path: &Path) -> Vec<KeptIn> {
    let mut places = Vec::new();
    let Ok(mut reader) = JournalReader::open(path) else {
        return places;
    };
    while let Some(line) = reader.next_line() {
        let queued = line
            .ok()
            .filter(|line| line.message == schema::EventKind::QueuingItem);
        places.extend(queued.and_then(|line| line.get::<KeptIn>("kept")));
    }
    places
}
