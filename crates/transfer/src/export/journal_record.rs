//! Reads each journal once. When more was appended to it, only the new part is read.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interop::Asked;
use jiff::Timestamp;
use journal::{
    CallTotals, JournalReader, JournalSource, JournalVisitor, JournalVisitors, ReadError, Replay,
    Replayed, Scope,
};
use schema::{EventBody, ItemKey, event::StartingRun};
use store::RunError;

use super::{
    disk_index::{DiskFile, DiskPosition, hash_key},
    exchange::Exchange,
    replies::{Coverage, Replies, ReplyOrigins, ReportedReplies},
    reported_item::ReportedItem,
    reported_target::ReportedTarget,
};

/// Journals that were already read. Clones share them.
///
/// Memory holds a few hundred bytes for each item; the data that journals report about it is in a temporary
/// file.
#[derive(Clone, Debug, Default)]
pub struct Journals(Arc<Mutex<KeptJournals>>);

#[derive(Debug, Default)]
struct KeptJournals {
    records: HashMap<PathBuf, Arc<JournalRecord>>,
    /// The journals that were read since the last [`Journals::forget_unused`].
    used: BTreeSet<PathBuf>,
    items: Option<SharedFile>,
}

type SharedFile = Arc<Mutex<DiskFile>>;

impl Journals {
    /// The current content of the journal at `path`.
    ///
    /// # Errors
    /// When the temporary folder cannot be used. Problems of the journal are in its notes.
    pub(super) fn read(&self, path: &Path) -> Result<Arc<JournalRecord>, RunError> {
        let record = self.record(path)?;
        record.read_on()?;
        Ok(record)
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
            None => Arc::new(Mutex::new(DiskFile::new()?)),
        };
        kept.items = Some(Arc::clone(&items));
        let record = Arc::new(JournalRecord {
            path: path.to_owned(),
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

    fn finish(self: Box<Self>, mut replay: Replay<JournalSource>) {
        if let Some(mut reading) = self.reading {
            reading.end(&mut replay, &self.record.path);
            reading.replay = Some(replay);
            *lock(&self.record.reading) = reading;
        }
    }
}

/// A journal up to the last event that was read.
#[derive(Debug)]
pub(super) struct JournalRecord {
    path: PathBuf,
    items: SharedFile,
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    file: Option<FileState>,
    /// `None` if the journal could not be opened.
    replay: Option<Replay<JournalSource>>,
    run: ReportedTarget,
    /// The items that have not ended, with their calls up to now.
    open: HashMap<ItemKey, ReportedItem>,
    /// The items that had not ended at the last event that was read, with their replies up to there, by
    /// their keys.
    unended: HashMap<u64, Vec<ReportedItem>>,
    /// The positions of the items that ended, by their keys.
    ended: HashMap<u64, Vec<DiskPosition>>,
    /// The origins of the replies of an item.
    origins: HashMap<ItemKey, ReplyOrigins>,
    targets: BTreeMap<String, TargetRecord>,
    plans: Vec<Plan>,
    totals: CallTotals,
    /// Whether a line could not be read: calls after it are not counted.
    is_faulty: bool,
    notes: Vec<String>,
    cut_off: Option<String>,
}

/// The data that a journal reports about a target.
#[derive(Clone, Debug, Default)]
struct TargetRecord {
    /// Only from this journal, whatever other journals report.
    target: ReportedTarget,
    replies: ReportedReplies,
}

/// The targets that a run planned to simulate.
#[derive(Clone, Debug)]
struct Plan {
    targets: Vec<String>,
    run: ReportedTarget,
}

/// The identity of a file, and its length when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    identity: (u64, u64),
    length: u64,
}

impl FileState {
    #[cfg(unix)]
    fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(path)?;
        Ok(Self {
            identity: (file.dev(), file.ino()),
            length: file.len(),
        })
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        let created = file.created()?;
        let since = created.duration_since(std::time::SystemTime::UNIX_EPOCH);
        let since = since.unwrap_or_default();
        Ok(Self {
            identity: (since.as_secs(), since.subsec_nanos().into()),
            length: file.len(),
        })
    }
}

impl JournalRecord {
    /// Problems of the journal, for people.
    pub(super) fn notes(&self) -> Vec<String> {
        let reading = lock(&self.reading);
        reading
            .notes
            .iter()
            .chain(&reading.cut_off)
            .cloned()
            .collect()
    }

    /// The calls in the readable lines.
    pub(super) fn totals(&self) -> CallTotals {
        lock(&self.reading).totals.clone()
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
            .filter_map(|target| Some((target, reading.targets.get(target)?)));
        let covered = known
            .map(|(target, record)| (target.clone(), replies.covered(target, &record.replies)));
        covered
            .filter(|(_, coverage)| coverage.is_reported())
            .collect()
    }

    /// Adds the data reported about `target` as a whole to `known`, the data of older journals.
    pub(super) fn add_target(&self, target: &str, known: &mut ReportedTarget) {
        if let Some(record) = lock(&self.reading).targets.get(target) {
            known.add_newer(&record.target);
        }
    }

    /// The newest run in the journal that planned to simulate `target`.
    pub(super) fn planned(&self, target: &str) -> Option<ReportedTarget> {
        let reading = lock(&self.reading);
        let mut plans = reading.plans.iter().rev();
        let plan = plans.find(|plan| plan.targets.iter().any(|id| id == target));
        plan.map(|plan| plan.run.clone())
    }

    /// The data reported about the items with `key`.
    pub(super) fn items(&self, key: u64) -> Result<Vec<ReportedItem>, RunError> {
        let reading = lock(&self.reading);
        let ended = reading.ended.get(&key).into_iter().flatten();
        let mut file = lock(&self.items);
        let items: Result<Vec<ReportedItem>, RunError> =
            ended.map(|position| file.read(*position)).collect();
        let mut items = items?;
        items.extend(reading.unended.get(&key).into_iter().flatten().cloned());
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
        let mut replay = match replay {
            Some(replay) => replay,
            None => {
                *reading = Reading::default();
                match JournalReader::open(&self.path) {
                    Ok(reader) => Replay::new(reader),
                    Err(error) => {
                        reading.notes.push(error.to_string());
                        return Ok(());
                    }
                }
            }
        };
        reading.file = now;
        while let Some(replayed) = replay.next_event() {
            reading.add(replayed, self)?;
        }
        reading.end(&mut replay, &self.path);
        reading.replay = Some(replay);
        Ok(())
    }

    /// A replay that continues after the events that were read. `None` if all must be read again.
    fn gone_on(&self, reading: &mut Reading) -> Option<Replay<JournalSource>> {
        let mut replay = reading.replay.take()?;
        let position = replay.reader().position()?;
        replay.go_on(JournalReader::open_at(&self.path, position).ok()?);
        Some(replay)
    }
}

impl Reading {
    fn add(
        &mut self,
        replayed: Result<Replayed<'_>, ReadError>,
        record: &JournalRecord,
    ) -> Result<(), RunError> {
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(error) => {
                self.is_faulty = true;
                self.notes.push(error.to_string());
                return Ok(());
            }
        };
        let Some(Ok(event)) = &replayed.event else {
            return Ok(());
        };
        if !self.is_faulty {
            let sut = replayed.line.sut.as_deref().unwrap_or_default();
            self.totals.push(event, sut);
        }
        let time = replayed.line.time();
        let (key, history) = match replayed.scope {
            Scope::Item(key, history) => (key, Some(history)),
            Scope::Closed(key) => (key, None),
            Scope::Run => {
                if let EventBody::StartingRun(start) = event {
                    self.start(start, &record.path);
                }
                return Ok(());
            }
        };
        let call = Exchange::of(event, &key.sut);
        self.add_to_target(event, call.as_ref(), &key, time);
        let Some(history) = history else {
            return Ok(());
        };
        match event {
            EventBody::QueuingItem(_) => {
                let item = ReportedItem::queued(&key.test, history, time);
                self.open.insert(key, item);
            }
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                let origins = self.origins.remove(&key).unwrap_or_default();
                if let Some(target) = self.targets.get_mut(&*key.sut) {
                    let replies = &mut target.replies;
                    replies.add_item(&key.prompt_id, &history.transcript, origins);
                }
                if let Some(mut item) = self.open.remove(&key) {
                    item.end(time);
                    item.set_replies(&history.transcript);
                    let position = lock(&record.items).put(&item)?;
                    let places = self.ended.entry(item.key(&key)).or_default();
                    places.push(position);
                }
            }
            event => {
                if let Some(item) = self.open.get_mut(&key) {
                    item.add(event, call);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, start: &StartingRun, path: &Path) {
        self.run = ReportedTarget::of_run(start, path);
        let mut phases = start.phases.iter().flatten();
        if phases.any(|phase| phase == "simulate") {
            let suts = start.suts.iter().map(|sut| sut.to_string());
            self.plans.push(Plan {
                targets: suts.collect(),
                run: self.run.clone(),
            });
        }
    }

    fn add_to_target(
        &mut self,
        event: &EventBody,
        call: Option<&(Asked, Exchange<'_>)>,
        key: &ItemKey,
        time: Option<Timestamp>,
    ) {
        if !self.targets.contains_key(&*key.sut) {
            let record = TargetRecord::default();
            self.targets.insert(key.sut.to_string(), record);
        }
        let Some(record) = self.targets.get_mut(&*key.sut) else {
            return;
        };
        record.target.add(event, call, time, &self.run);
        if let Some(origins) = call.and_then(|(by, call)| ReplyOrigins::of_call(*by, call)) {
            record.replies.add_call(origins);
            self.origins.entry(key.clone()).or_default().add(origins);
        }
    }

    /// Records the items that are still open at the end of the file, and whether its last line is cut off.
    fn end(&mut self, replay: &mut Replay<JournalSource>, path: &Path) {
        let cut_off = replay.reader().cut_off();
        self.cut_off = cut_off.map(|cut_off| format!("{}: {cut_off}", path.display()));
        self.unended.clear();
        for (key, history) in replay.each_open_item() {
            if let Some(item) = self.open.get(key) {
                let mut item = item.clone();
                item.set_replies(&history.transcript);
                self.unended.entry(item.key(key)).or_default().push(item);
            }
        }
    }
}

impl ReportedItem {
    /// The key used to look it up: of the conversation's number for a safety evaluation, otherwise of the
    /// conversation itself.
    fn key(&self, key: &ItemKey) -> u64 {
        match self.number {
            Some(number) => hash_key((number, &*key.sut)),
            None => hash_key((&*key.prompt_id, &*key.sut)),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "../../fixtures/journal/earlier/agentic/runs/run-20261122-073854-125232/journal-run-20261122-073854-125232.jsonl";

    /// All that a record says, as text.
    fn said(record: &JournalRecord) -> String {
        let reading = lock(&record.reading);
        let mut keys: Vec<u64> = reading
            .ended
            .keys()
            .chain(reading.unended.keys())
            .copied()
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
            reading.targets,
            reading.plans,
            reading.notes,
            reading.cut_off,
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
}
