//! The table of items beside a journal: what a later run needs to know of it, so that rows that come whole from the cache need not be written
//! again.
//!
//! A run writes it in the pass that checks its journal. It is used only where the journal has the length, the time of its last change and the
//! end that the table was made from. Where it is missing, rows are written whole.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use journal::{
    ContentHash, EarlierItem, EarlierItems, Form, ItemContent, Replayed, RunId, Scope,
    item_table_name,
};
use schema::{EventBody, ItemKey};
use serde::{Deserialize, Serialize};

use crate::{DiskFile, DiskIndex, DiskPosition, DiskPositions, JournalStamp, RunError};

/// Raise it when a table of an earlier version must not be used any more.
const FORMAT: u32 = 1;

/// The most tables that a run reads for one benchmark.
const TABLES: usize = 20;

/// The first line of a table.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    item_table: u32,
    /// The folder of the benchmark.
    benchmark: String,
    run_id: String,
    journal: JournalStamp,
}

/// An item: one line each.
#[derive(Serialize, Deserialize)]
struct TableRow {
    queued: HexHash,
    content: HexHash,
    lines: BTreeMap<String, u64>,
}

/// A hash, written in hexadecimal digits: not every reader of JSON keeps long numbers.
#[derive(Clone, Copy)]
struct HexHash(ContentHash);

impl Serialize for HexHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for HexHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = ContentHash::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(Self(hash))
    }
}

/// Makes the table of a journal in a pass that others share.
#[derive(Default)]
pub(crate) struct TableBuilder {
    /// The run, and the folder of its benchmark.
    run: Option<(String, String)>,
    open: HashMap<ItemKey, ItemContent>,
    /// The rows of the items that ended, a line each.
    rows: DiskFile,
    is_closed: bool,
    /// Why rows are missing.
    fault: Option<RunError>,
}

impl TableBuilder {
    /// Takes the next event.
    pub(crate) fn push(&mut self, replayed: &Replayed<'_>) {
        let Some(Ok(event)) = &replayed.event else {
            return;
        };
        let line = replayed.line.number;
        let key = match &replayed.scope {
            Scope::Item(key, _) => key,
            Scope::Closed(_) => return,
            Scope::Run => {
                if let EventBody::StartingRun(start) = event {
                    self.run = start.run_id.clone().zip(start.folder.clone());
                }
                self.is_closed = matches!(event, EventBody::ClosingJournal(_));
                return;
            }
        };
        if let Some(content) = ItemContent::queued(key, event) {
            self.open.insert(key.clone(), content);
        }
        let Some(content) = self.open.get_mut(key) else {
            return;
        };
        content.add(event, &key.sut, line);
        if let EventBody::ItemFinished(_) | EventBody::ItemFailed(_) = event
            && let Some(content) = self.open.remove(key)
            && let Some(whole) = content.whole()
        {
            self.fault = self.fault.take().or(self.add(&content, whole).err());
        }
    }

    /// Adds the row of an item that ended.
    fn add(&mut self, content: &ItemContent, whole: ContentHash) -> Result<(), RunError> {
        let row = TableRow {
            queued: HexHash(content.of_queued()),
            content: HexHash(whole),
            lines: content.lines().clone(),
        };
        self.rows.put(&row)?;
        self.rows.put_text(b"\n")?;
        Ok(())
    }

    /// Writes the table beside the journal at `path`, if the journal is complete. Without a table, a later run writes its rows whole: where
    /// the folder cannot be written, that is all.
    pub(crate) fn write(mut self, path: &Path) {
        let Some((run_id, benchmark)) = self.run.filter(|_| self.is_closed) else {
            return;
        };
        if self.rows.is_empty() {
            return;
        }
        let written = match self.fault {
            Some(fault) => Err(io::Error::other(fault)),
            None => JournalStamp::of(path).and_then(|journal| {
                let header = Header {
                    item_table: FORMAT,
                    benchmark,
                    run_id,
                    journal,
                };
                write_table(path, &header, &mut self.rows)
            }),
        };
        if let Err(error) = written {
            tracing::debug!(journal = %path.display(), %error, "its table of items cannot be written");
        }
    }
}

fn write_table(journal: &Path, header: &Header, rows: &mut DiskFile) -> io::Result<()> {
    let name = journal.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(folder)) = (name.and_then(item_table_name), journal.parent()) else {
        return Ok(());
    };
    let unfinished = files::create_unfinished(folder)?;
    let mut out = BufWriter::new(unfinished.as_file());
    serde_json::to_writer(&mut out, header)?;
    out.write_all(b"\n")?;
    rows.copy_to(&mut out)?;
    out.flush()?;
    drop(out);
    unfinished.persist(folder.join(name))?;
    Ok(())
}

/// The items in the journals of earlier runs of a benchmark. Their tables are read when they are needed, the newest first.
#[derive(Debug)]
pub struct EarlierJournals {
    runs: PathBuf,
    benchmark: String,
    /// The run that asks: only runs that started before it count.
    before: RunId,
    read: Mutex<ReadTables>,
}

#[derive(Debug, Default)]
struct ReadTables {
    /// The tables that were not read, the newest last. `None` before the first question.
    left: Option<Vec<PathBuf>>,
    known: Vec<KnownTable>,
}

/// A table that was read: its rows stay in its file.
#[derive(Debug)]
struct KnownTable {
    run_id: Arc<str>,
    /// By [`row_key`].
    rows: DiskIndex,
}

impl EarlierJournals {
    /// The journals of the benchmark in the folder `benchmark`, of runs in the folder `runs` that started before `before`.
    #[must_use]
    pub fn new(runs: impl Into<PathBuf>, benchmark: impl Into<String>, before: RunId) -> Self {
        Self {
            runs: runs.into(),
            benchmark: benchmark.into(),
            before,
            read: Mutex::default(),
        }
    }

    /// The tables of earlier runs, the newest last.
    fn tables(&self) -> Vec<PathBuf> {
        let mut found: Vec<(RunId, PathBuf)> = Vec::new();
        for folder in entries(&self.runs) {
            for path in entries(&folder) {
                let name = path.file_name().and_then(|name| name.to_str());
                let id = name.and_then(|name| name.strip_prefix("items-")?.parse().ok());
                if let Some(id) = id.filter(|id| *id < self.before) {
                    found.push((id, path));
                }
            }
        }
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// Reads tables until `has` finds what it looks for.
    fn look<T>(&self, mut has: impl FnMut(&mut KnownTable) -> Option<T>) -> Option<T> {
        let mut tables = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = &mut *tables;
        let left = tables.left.get_or_insert_with(|| self.tables());
        if let Some(found) = tables.known.iter_mut().find_map(&mut has) {
            return Some(found);
        }
        while tables.known.len() < TABLES {
            let path = left.pop()?;
            if let Some(mut table) = read_table(&path, &self.benchmark) {
                let found = has(&mut table);
                tables.known.push(table);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}

impl EarlierItems for EarlierJournals {
    fn knows(&self, queued: ContentHash) -> bool {
        let key = row_key(queued);
        self.look(|table| table.rows.has(key).then_some(()))
            .is_some()
    }

    fn find(&self, queued: ContentHash, content: ContentHash) -> Option<EarlierItem> {
        self.look(|table| {
            // A table that was damaged meanwhile has no item: the row is written whole.
            let rows: Vec<TableRow> = table.rows.get(row_key(queued)).ok()?;
            let row = rows
                .into_iter()
                .find(|row| row.queued.0 == queued && row.content.0 == content)?;
            Some(EarlierItem {
                run_id: Arc::clone(&table.run_id),
                lines: row.lines,
            })
        })
    }
}

/// The key of the rows with this hash of what was queued. Two hashes may have the same key: their rows have them whole.
fn row_key(queued: ContentHash) -> u64 {
    crate::hash_key(queued)
}

/// The table at `path`, if it is one of `benchmark` and its journal is there unchanged.
fn read_table(path: &Path, benchmark: &str) -> Option<KnownTable> {
    let mut reader = BufReader::new(files::open(path).ok()?);
    let mut line = Vec::new();
    let mut start = reader.read_until(b'\n', &mut line).ok()? as u64;
    let header: Header = serde_json::from_slice(&line).ok()?;
    if header.item_table != FORMAT || header.benchmark != benchmark {
        return None;
    }
    let journal = journal_in(path.parent()?, &header.run_id)?;
    if JournalStamp::of(&journal).ok()? != header.journal {
        return None;
    }
    let mut positions = DiskPositions::default();
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).ok()?;
        if length == 0 {
            break;
        }
        let row: TableRow = serde_json::from_slice(&line).ok()?;
        let length = u32::try_from(length).ok()?;
        positions.add(row_key(row.queued.0), DiskPosition { start, length });
        start += u64::from(length);
    }
    Some(KnownTable {
        run_id: header.run_id.into(),
        rows: DiskIndex::of_file(DiskFile::of_file(reader.into_inner()), positions),
    })
}

/// The journal of the run `run_id` among the records of all runs in `runs`. `None` if it is not there.
#[must_use]
pub fn find_journal(runs: &Path, run_id: &str) -> Option<PathBuf> {
    // An id from a file must be a name and not a path.
    let id: RunId = run_id.parse().ok()?;
    journal_in(&runs.join(id.as_str()), run_id).or_else(|| {
        // A further journal of a run over several benchmarks.
        let mut folders = entries(runs);
        folders.find_map(|folder| journal_in(&folder, run_id))
    })
}

fn journal_in(folder: &Path, run_id: &str) -> Option<PathBuf> {
    let mut forms = [Form::Plain, Form::Compressed].into_iter();
    forms.find_map(|form| {
        let path = folder.join(format!("journal-{run_id}.{}", form.extension()));
        path.is_file().then_some(path)
    })
}

/// The entries of a folder; empty if it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}
