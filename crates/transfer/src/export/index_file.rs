//! The index beside a journal: what a reader found in it, so that the next reader need not read it.
//!
//! It is a derived file. It is used only where the journal has the length, the time of its last change and the end that the index was
//! made from; otherwise the journal is read, and the index is written again. Its first line identifies the journal, the second is the
//! content, and behind it are the items, which are read one at a time.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use journal::index_name;
use schema::{Role, Turn};
use serde::{Deserialize, Serialize};
use store::{ConversationIndex, JournalStamp};

use super::{
    disk_index::{DiskFile, DiskPosition, hash_key},
    journal_record::RecordContent,
    reported_item::reply_keys,
};

/// Raise it when an index of an earlier version must not be used any more.
const FORMAT: u32 = 3;

/// The first line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    /// The version of the format.
    journal_index: u32,
    /// Keys of known texts: the functions that make them may change with the program.
    keys: Vec<u64>,
    journal: JournalStamp,
}

impl Header {
    fn new(journal: JournalStamp) -> Self {
        let turns = [Turn::new(Role::Assistant, "key")];
        let replies: Vec<u64> = reply_keys(&turns).collect();
        Self {
            journal_index: FORMAT,
            keys: vec![
                hash_key(("key", 1)),
                ConversationIndex::prompt_key("key"),
                ConversationIndex::replies_key(&replies),
            ],
            journal,
        }
    }
}

/// The index of the journal at `path`. `None` for a file that is not called as journals are.
pub(super) fn index_path(path: &Path) -> Option<PathBuf> {
    let name = index_name(path.file_name()?.to_str()?)?;
    Some(path.with_file_name(name))
}

/// The content of the journal at `path` by its index, and the file with its items. `None` where there is no index, or it is of another
/// content.
pub(super) fn read(path: &Path) -> Option<(RecordContent, DiskFile)> {
    let file = files::open(index_path(path)?).ok()?;
    let length = file.metadata().ok()?.len();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut next_line = || -> Option<Vec<u8>> {
        line.clear();
        let most = files::LARGEST;
        (&mut reader).take(most).read_until(b'\n', &mut line).ok()?;
        Some(line.clone())
    };
    let (header, text) = (next_line()?, next_line()?);
    let known: Header = serde_json::from_slice(&header).ok()?;
    if known != Header::new(JournalStamp::of(path).ok()?) {
        return None;
    }
    let mut content: RecordContent = serde_json::from_slice(&text).ok()?;
    let start = (header.len() + text.len()) as u64;
    let mut end = start;
    for position in content.ended.values_mut().flatten() {
        position.start += start;
        end = end.max(position.start + u64::from(position.length));
    }
    content.set_path(path);
    (end == length).then(|| (content, DiskFile::of_file(reader.into_inner())))
}

/// Writes the index of the journal at `path`, whose stamp was `journal` when `content` was read from it. `items` has the items of
/// `content`.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn write(
    path: &Path,
    journal: JournalStamp,
    content: &mut RecordContent,
    items: &mut DiskFile,
) -> io::Result<()> {
    let (Some(index), Some(folder)) = (index_path(path), path.parent()) else {
        return Ok(());
    };
    let unfinished = files::create_unfinished(folder)?;
    let mut positions: Vec<DiskPosition> = content.ended.values().flatten().copied().collect();
    positions.sort_by_key(|position| position.start);
    let mut out = BufWriter::new(unfinished.as_file());
    write_line(&mut out, &Header::new(journal))?;
    let moved = side_by_side(&content.ended, &positions);
    let ended = std::mem::replace(&mut content.ended, moved);
    let written = write_line(&mut out, content);
    content.ended = ended;
    written?;
    for position in positions {
        out.write_all(&items.read_text(position)?)?;
    }
    out.flush()?;
    drop(out);
    unfinished.persist(index)?;
    Ok(())
}

/// The positions of `ended` where the items follow each other in the order of `positions`.
fn side_by_side(
    ended: &HashMap<u64, Vec<DiskPosition>>,
    positions: &[DiskPosition],
) -> HashMap<u64, Vec<DiskPosition>> {
    let mut next = 0;
    let mut moved = HashMap::new();
    for position in positions {
        moved.insert(position.start, next);
        next += u64::from(position.length);
    }
    let moved = |position: &DiskPosition| DiskPosition {
        start: moved.get(&position.start).copied().unwrap_or_default(),
        length: position.length,
    };
    let items = ended.iter();
    items
        .map(|(key, positions)| (*key, positions.iter().map(moved).collect()))
        .collect()
}

fn write_line(out: &mut BufWriter<&File>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
