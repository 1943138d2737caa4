//! The index beside a journal: what a reader found in it, so that the next reader need not read it.
//!
//! It is a derived file. It is used only where the journal has the length, the time of its last change and the end that the index was
//! made from; otherwise the journal is read, and the index is written again. Its first line identifies the journal, the second is the
//! content, and behind it are the items, which are read one at a time.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use journal::index_name;
use schema::{Role, Turn};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use store::{ConversationIndex, DiskFile, JournalStamp, hash_key};

use super::{journal_record::RecordContent, reported_item::reply_keys};

/// Raise it when an index of an earlier version must not be used any more.
const FORMAT: u32 = 4;

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
    let mut reader = Counted {
        reader: BufReader::new(file),
        bytes: 0,
    };
    let header: Header = value(&mut reader)?;
    if header != Header::new(JournalStamp::of(path).ok()?) {
        return None;
    }
    // Read as a stream: the text of a million items needs more memory than what is in it.
    let mut content: RecordContent = value(&mut reader)?;
    let end = content.ended.move_by(reader.bytes);
    content.set_path(path);
    (end == length).then(|| (content, DiskFile::of_file(reader.reader.into_inner())))
}

/// The value in the next line.
fn value<T: DeserializeOwned>(reader: &mut impl Read) -> Option<T> {
    let value = T::deserialize(&mut serde_json::Deserializer::from_reader(&mut *reader)).ok()?;
    let mut end = [0];
    reader.read_exact(&mut end).ok()?;
    (end == *b"\n").then_some(value)
}

/// A reader that counts what was read from it.
struct Counted<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        self.bytes += read as u64;
        Ok(read)
    }
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
    let mut out = BufWriter::new(unfinished.as_file());
    write_line(&mut out, &Header::new(journal))?;
    let moved = content.ended.side_by_side();
    let ended = std::mem::replace(&mut content.ended, moved);
    let written = write_line(&mut out, content);
    content.ended = ended;
    written?;
    for position in content.ended.in_order() {
        out.write_all(&items.read_text(position)?)?;
    }
    out.flush()?;
    drop(out);
    unfinished.persist(index)?;
    Ok(())
}

fn write_line(out: &mut BufWriter<&File>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
