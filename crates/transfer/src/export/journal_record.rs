//! Reads each journal once, or its index instead. When more was appended to it, only the new part is read.

mod content;
mod earlier;
mod file_state;
mod journals;
mod reading;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use journal::{CallTotals, JournalReader, JournalSource, Replay};
use store::{DiskFile, JournalStamp, RunError};

pub(super) use self::content::RecordContent;
pub use self::journals::Journals;
use self::{
    file_state::{FileState, is_left},
    journals::KeptJournals,
    reading::Reading,
};
use super::{
    index_file,
    replies::{Coverage, Replies},
    reported_item::ReportedItem,
    reported_target::ReportedTarget,
};

type SharedFile = Arc<Mutex<DiskFile>>;

/// A journal up to the last event that was read.
#[derive(Debug)]
pub(super) struct JournalRecord {
    path: PathBuf,
    /// The journals that were read, this one among them.
    journals: Weak<Mutex<KeptJournals>>,
    items: SharedFile,
    reading: Mutex<Reading>,
}
impl JournalRecord {
    /// Problems of the journal, for people.
    pub(super) fn notes(&self) -> Vec<String> {
        let reading = lock(&self.reading);
        let cut_off = reading
            .content
            .cut_off
            .iter()
            .map(|cut_off| format!("{}: {cut_off}", self.path.display()));
        reading.notes.iter().cloned().chain(cut_off).collect()
    }

    /// Whether items of it are in the journals of earlier runs, and not found there.
    pub(super) fn lacks_items(&self) -> bool {
        lock(&self.reading).lacks_items
    }

    /// The calls in the readable lines.
    pub(super) fn totals(&self) -> CallTotals {
        lock(&self.reading).content.totals.clone()
    }

    /// The targets among `targets` for which the journal reports at least one conversation of the tree,
    /// with all its replies.
    pub(super) fn reported(
        &self,
        replies: &Replies,
        targets: &BTreeSet<String>,
    ) -> BTreeMap<String, Coverage> {
        let reading = lock(&self.reading);
        let known = targets
            .iter()
            .filter_map(|target| Some((target, reading.content.targets.get(target)?)));
        let covered = known
            .map(|(target, record)| (target.clone(), replies.covered(target, &record.replies)));
        covered
            .filter(|(_, coverage)| coverage.is_reported())
            .collect()
    }

    /// Adds the data reported about `target` as a whole to `known`, the data of older journals.
    pub(super) fn add_target(&self, target: &str, known: &mut ReportedTarget) {
        if let Some(record) = lock(&self.reading).content.targets.get(target) {
            known.add_newer(&record.target, &self.path);
        }
    }

    /// The newest run in the journal that planned to simulate `target`.
    pub(super) fn planned(&self, target: &str) -> Option<ReportedTarget> {
        let reading = lock(&self.reading);
        let mut plans = reading.content.plans.iter().rev();
        let plan = plans.find(|plan| plan.targets.iter().any(|id| id == target));
        plan.map(|plan| plan.run.clone())
    }

    /// The data reported about the items with `key`.
    pub(super) fn items(&self, key: u64) -> Result<Vec<ReportedItem>, RunError> {
        let mut reading = lock(&self.reading);
        let mut items = reading.ended_items(key, &self.items);
        if items.is_err() && reading.index.is_some() {
            // The index is damaged.
            self.read_whole(&mut reading)?;
            items = reading.ended_items(key, &self.items);
        }
        let mut items = items?;
        items.extend(
            reading
                .content
                .unended
                .get(&key)
                .into_iter()
                .flatten()
                .cloned(),
        );
        Ok(items)
    }

    /// Reads the events that were appended. If the file was replaced or is shorter than before, reads it
    /// from its start.
    fn read_on(&self) -> Result<(), RunError> {
        let mut reading = lock(&self.reading);
        let now = FileState::of(&self.path).ok();
        if reading.file == now && now.is_some() {
            return Ok(());
        }
        let goes_on = reading.file.zip(now).is_some_and(|(before, now)| {
            before.identity == now.identity && before.length < now.length
        });
        let replay = match goes_on {
            true => self.gone_on(&mut reading),
            false => None,
        };
        if let Some(replay) = replay {
            return self.read_events(replay, now, &mut reading);
        }
        if let Some((content, items)) = index_file::read(&self.path) {
            *reading = Reading {
                file: now,
                content,
                index: Some(Mutex::new(items)),
                ..Reading::default()
            };
            return Ok(());
        }
        self.read_whole(&mut reading)
    }

    /// Reads the journal from its start.
    fn read_whole(&self, reading: &mut Reading) -> Result<(), RunError> {
        *reading = Reading::default();
        let now = FileState::of(&self.path).ok();
        match JournalReader::open(&self.path) {
            Ok(reader) => self.read_events(Replay::new(reader), now, reading),
            Err(error) => {
                reading.notes.push(error.to_string());
                Ok(())
            }
        }
    }

    /// Reads the events of `replay`, which has those of the file in the state `now`.
    fn read_events(
        &self,
        mut replay: Replay<JournalSource>,
        now: Option<FileState>,
        reading: &mut Reading,
    ) -> Result<(), RunError> {
        reading.file = now;
        while let Some(replayed) = replay.next_event() {
            reading.add(replayed, self)?;
        }
        reading.end(replay);
        self.write_index(reading);
        Ok(())
    }

    /// Writes the index beside the journal, if no more is expected to be appended to it. Without an index the journal is read each time:
    /// where the folder cannot be written, that is all.
    fn write_index(&self, reading: &mut Reading) {
        let Some(file) = reading.file else {
            return;
        };
        let is_whole = !reading.is_faulty && !reading.lacks_items;
        if !is_whole || !(reading.is_closed || is_left(&self.path)) {
            return;
        }
        // Taken after the pass: what was appended meanwhile makes it another journal than the one that was read.
        let stamp = JournalStamp::of(&self.path).ok();
        let Some(stamp) = stamp.filter(|stamp| stamp.bytes() == file.length) else {
            return;
        };
        let mut items = lock(&self.items);
        let written = index_file::write(&self.path, stamp, &mut reading.content, &mut items);
        if let Err(error) = written {
            tracing::debug!(journal = %self.path.display(), %error, "its index cannot be written");
        }
    }

    /// A replay that continues after the events that were read. `None` if all must be read again.
    fn gone_on(&self, reading: &mut Reading) -> Option<Replay<JournalSource>> {
        let mut replay = reading.replay.take()?;
        let position = replay.reader().position()?;
        replay.go_on(JournalReader::open_at(&self.path, position).ok()?);
        Some(replay)
    }
}
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RUN: &str = "../../fixtures/journal/earlier/agentic/runs/run-20261122-073854-125232/journal-run-20261122-073854-125232.jsonl";

    #[test]
    fn the_beginning_of_a_journal_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-run.jsonl");
        let journals = Journals::default();
        assert!(journals.head(&path).is_none());
        fs::copy(RUN, &path).unwrap();
        let head = journals.head(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(journals.head(&path).unwrap().folder, head.folder);
    }

    /// All that a record says, as text.
    fn said(record: &JournalRecord) -> String {
        let reading = lock(&record.reading);
        let mut keys: Vec<u64> = reading
            .content
            .ended
            .keys()
            .chain(reading.content.unended.keys().copied())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        drop(reading);
        let items: Vec<_> = keys.iter().map(|key| record.items(*key).unwrap()).collect();
        let totals = record.totals();
        let reading = lock(&record.reading);
        format!(
            "{items:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            totals.calls(),
            totals.retries(),
            reading.content.targets,
            reading.content.plans,
            reading.notes,
            reading.content.cut_off,
        )
    }

    #[test]
    fn a_journal_that_grows_is_read_as_one_that_is_whole() {
        let text = fs::read(RUN).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-run.jsonl");
        let journals = Journals::default();
        let parts = 40;
        for part in 1..=parts {
            // In the middle of lines, as a buffer is written.
            fs::write(&path, &text[..text.len() * part / parts]).unwrap();
            let record = journals.read(&path).unwrap();
            let whole = Journals::default().read(&path).unwrap();
            assert_eq!(said(&record), said(&whole), "part {part}");
        }
        let before = said(&journals.read(&path).unwrap());
        assert!(before.contains("request_id"));
        // Nothing is read twice, and a journal that is another one is read from its start.
        assert_eq!(said(&journals.read(&path).unwrap()), before);
        fs::write(&path, &text[..text.len() / 3]).unwrap();
        let shorter = journals.read(&path).unwrap();
        assert_eq!(
            said(&shorter),
            said(&Journals::default().read(&path).unwrap())
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(journals.read(&path).unwrap().notes().len(), 1);
        journals.forget_unused();
        journals.forget_unused();
        assert!(lock(&journals.0).records.is_empty());
    }

    /// A run of millions of rows has as many items: of each that ended, memory holds a position and the keys of its replies.
    #[test]
    fn items_that_ended_are_not_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-run.jsonl");
        fs::copy(RUN, &path).unwrap();
        for _ in ["from the journal", "from its index"] {
            let record = Journals::default().read(&path).unwrap();
            let reading = lock(&record.reading);
            assert!(reading.open.is_empty() && reading.origins.is_empty());
            assert!(reading.content.unended.is_empty());
            let targets = reading.content.targets.values();
            let replies: usize = targets.map(|target| target.replies.len()).sum();
            assert!(replies > 0);
            assert_eq!(reading.content.ended.len(), replies);
        }
    }

    /// Whether the record of the journal comes from its index.
    fn is_indexed(record: &JournalRecord) -> bool {
        lock(&record.reading).index.is_some()
    }

    #[test]
    fn an_index_says_what_its_journal_says_and_only_of_that_journal() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::create_dir(&old).unwrap();
        let name = "journal-run.jsonl";
        fs::copy(RUN, old.join(name)).unwrap();
        let whole = Journals::default().read(&old.join(name)).unwrap();
        assert!(!is_indexed(&whole));
        // Both may be moved.
        fs::rename(&old, &new).unwrap();
        let path = new.join(name);
        let read = || Journals::default().read(&path).unwrap();
        let expected = said(&whole).replace("/old/", "/new/");
        assert!(expected.contains("/new/"));
        let indexed = read();
        assert!(is_indexed(&indexed));
        assert_eq!(said(&indexed), expected);

        // A journal that was changed, be it to one of the same length, has another index.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("scripted", "replaced")).unwrap();
        let changed = read();
        assert!(!is_indexed(&changed) && said(&changed).contains("replaced"));
        assert!(is_indexed(&read()));
        assert_eq!(said(&read()), said(&changed));

        // A damaged index is not used.
        let index = index_file::index_path(&path).unwrap();
        let intact = fs::read(&index).unwrap();
        let lines = intact.split_inclusive(|byte| *byte == b'\n').take(2);
        let items = lines.map(<[u8]>::len).sum::<usize>();
        let mut zeros = intact.clone();
        zeros[items..].fill(0);
        for damaged in [
            &intact[..intact.len() - 1],
            &intact[..items / 2],
            b"",
            &zeros,
        ] {
            fs::write(&index, damaged).unwrap();
            assert_eq!(said(&read()), said(&changed));
        }

        // A run may be writing to a journal that is not closed.
        let open = text.rsplit_once("{\"timestamp\"").unwrap().0;
        fs::write(&path, open).unwrap();
        let reads = [read(), read()];
        assert!(reads.iter().all(|record| !is_indexed(record)));
    }
}
