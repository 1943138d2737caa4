//! Reads each journal once, or its index instead. When more was appended to it, only the new part is read.

mod earlier;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use interop::Asked;
use jiff::Timestamp;
use journal::{
    CallRole, CallTotals, JournalReader, JournalSource, JournalVisitor, JournalVisitors, KeptCalls,
    ReadError, Replay, Replayed, Scope,
};
use schema::{EventBody, ItemKey, event::StartingRun};
use serde::{Deserialize, Serialize};
use store::{JournalStamp, RunError};

use super::{
    disk_index::{DiskFile, DiskPosition, hash_key},
    exchange::Exchange,
    find::Head,
    index_file,
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
    /// The beginnings of the journals that have one.
    heads: HashMap<PathBuf, Arc<Head>>,
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

    /// The beginning of the run of the journal at `path`; `None` if the journal does not have it.
    pub(super) fn head(&self, path: &Path) -> Option<Arc<Head>> {
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
            None => Arc::new(Mutex::new(DiskFile::new()?)),
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

/// A journal up to the last event that was read.
#[derive(Debug)]
pub(super) struct JournalRecord {
    path: PathBuf,
    /// The journals that were read, this one among them.
    journals: Weak<Mutex<KeptJournals>>,
    items: SharedFile,
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    file: Option<FileState>,
    /// `None` if the journal could not be opened, or its index was read.
    replay: Option<Replay<JournalSource>>,
    /// The items that have not ended, with their calls up to now.
    open: HashMap<ItemKey, ReportedItem>,
    /// The origins of the replies of an item.
    origins: HashMap<ItemKey, ReplyOrigins>,
    /// The journals of earlier runs that have items of this one, by the ids of their runs.
    earlier: HashMap<String, Option<Arc<JournalRecord>>>,
    /// Whether an earlier journal is missing, or does not have an item.
    lacks_items: bool,
    /// Whether a line could not be read: calls after it are not counted.
    is_faulty: bool,
    notes: Vec<String>,
    /// Whether the last event is the one that closes a journal.
    is_closed: bool,
    content: RecordContent,
    /// The index that `content` comes from; `None`: the items are in the temporary file.
    index: Option<Mutex<DiskFile>>,
}

/// What a journal reports, as far as it was read. The index beside the journal holds it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordContent {
    run: ReportedTarget,
    /// The items that had not ended at the last event that was read, with their replies up to there, by
    /// their keys.
    unended: HashMap<u64, Vec<ReportedItem>>,
    /// The positions of the items that ended, by their keys.
    pub(super) ended: HashMap<u64, Vec<DiskPosition>>,
    targets: BTreeMap<String, TargetRecord>,
    plans: Vec<Plan>,
    totals: CallTotals,
    cut_off: Option<String>,
}

/// The data that a journal reports about a target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct TargetRecord {
    /// Only from this journal, whatever other journals report.
    target: ReportedTarget,
    replies: ReportedReplies,
}

/// The targets that a run planned to simulate.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
        let since = created
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
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
            self.content.totals.push(event, sut);
        }
        let time = replayed.line.time();
        let (key, history) = match replayed.scope {
            Scope::Item(key, history) => (key, Some(history)),
            Scope::Closed(key) => (key, None),
            Scope::Run => {
                if let EventBody::StartingRun(start) = event {
                    self.start(start, &record.path);
                }
                self.is_closed = matches!(event, EventBody::ClosingJournal(_));
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
                let line = replayed.line.number;
                let item = ReportedItem::queued(&key.test, history, line, time);
                self.open.insert(key, item);
            }
            EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
                let origins = self.origins.remove(&key).unwrap_or_default();
                let Some(mut item) = self.open.remove(&key) else {
                    return Ok(());
                };
                item.end(time);
                match &history.queued.kept {
                    None => item.set_replies(&history.transcript),
                    Some(kept) => match self.of_earlier(kept, &key, record)? {
                        Some(earlier) => item = item.of_earlier(earlier),
                        None => return Ok(()),
                    },
                }
                self.add_ended(&item, &key, origins, record)?;
            }
            event => {
                if let Some(item) = self.open.get_mut(&key) {
                    item.add(event, call, time);
                }
            }
        }
        Ok(())
    }

    /// Adds an item that ended.
    fn add_ended(
        &mut self,
        item: &ReportedItem,
        key: &ItemKey,
        origins: ReplyOrigins,
        record: &JournalRecord,
    ) -> Result<(), RunError> {
        if let Some(target) = self.content.targets.get_mut(&*key.sut) {
            let replies = &mut target.replies;
            replies.add_keys(&key.prompt_id, item.replies(), origins);
        }
        let position = lock(&record.items).put(item)?;
        let places = self.content.ended.entry(item.key(key)).or_default();
        places.push(position);
        Ok(())
    }

    /// The items with `key` that ended. `temporary` is the temporary file.
    fn ended_items(
        &self,
        key: u64,
        temporary: &Mutex<DiskFile>,
    ) -> Result<Vec<ReportedItem>, RunError> {
        let mut file = lock(self.index.as_ref().unwrap_or(temporary));
        let ended = self.content.ended.get(&key).into_iter().flatten();
        ended.map(|position| file.read(*position)).collect()
    }

    fn start(&mut self, start: &StartingRun, path: &Path) {
        self.content.run = ReportedTarget::of_run(start, path);
        let mut phases = start.phases.iter().flatten();
        if phases.any(|phase| phase == "simulate") {
            let suts = start.suts.iter().map(|sut| sut.to_string());
            self.content.plans.push(Plan {
                targets: suts.collect(),
                run: self.content.run.clone(),
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
        if !self.content.targets.contains_key(&*key.sut) {
            let record = TargetRecord::default();
            self.content.targets.insert(key.sut.to_string(), record);
        }
        let Some(record) = self.content.targets.get_mut(&*key.sut) else {
            return;
        };
        record.target.add(event, call, time, &self.content.run);
        if let Some(kept) = KeptCalls::of(event, &key.sut)
            && matches!(kept.role, CallRole::Sut | CallRole::Annotator)
        {
            let origins = ReplyOrigins::from_cache();
            record.replies.add_call(origins);
            self.origins.entry(key.clone()).or_default().add(origins);
        }
        if let Some(origins) = call.and_then(|(by, call)| ReplyOrigins::of_call(*by, call)) {
            record.replies.add_call(origins);
            self.origins.entry(key.clone()).or_default().add(origins);
        }
    }

    /// Records the items that are still open at the end of the file, and whether its last line is cut off.
    fn end(&mut self, mut replay: Replay<JournalSource>) {
        let cut_off = replay.reader().cut_off();
        self.content.cut_off = cut_off.map(ToString::to_string);
        self.content.unended.clear();
        for (key, history) in replay.each_open_item() {
            if let Some(item) = self.open.get(key) {
                let mut item = item.clone();
                item.set_replies(&history.transcript);
                let unended = self.content.unended.entry(item.key(key)).or_default();
                unended.push(item);
            }
        }
        self.replay = Some(replay);
    }
}

impl RecordContent {
    /// Sets the path of the journal, which its index does not have.
    pub(super) fn set_path(&mut self, path: &Path) {
        let targets = self.targets.values_mut().map(|record| &mut record.target);
        let planned = self.plans.iter_mut().map(|plan| &mut plan.run);
        let all = targets.chain(planned).chain([&mut self.run]);
        all.for_each(|reported| reported.set_path(path));
    }
}

/// How long nothing is written to a journal whose run was killed, at least. A run may wait as long for a slow model: its index is then made
/// again.
const LEFT: Duration = Duration::from_secs(60);

/// Whether no run seems to write to the journal at `path` any more.
fn is_left(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|file| file.modified()).ok();
    let since = modified.and_then(|time| time.elapsed().ok());
    since.is_some_and(|since| since >= LEFT)
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
            .chain(reading.content.unended.keys())
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
