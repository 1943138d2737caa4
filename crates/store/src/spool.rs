//! Keeps finished rows on disk until the final file is composed of them.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Deserializer,
    ser::{Formatter, PrettyFormatter, Serializer},
    value::RawValue,
};

use crate::{
    RowForm, RunError,
    ordered_rows::{Copied, OrderedRows},
    plain_path,
    segments::{SegmentWriter, remove_segments},
    tree::DigestWriter,
    write_atomically,
};

/// The position of a row in the final file, whatever finished first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPosition {
    /// Position of the metric.
    pub metric: u32,
    /// Position of the scenario within the metric.
    pub scenario: u32,
    /// Position of the sample.
    pub sample: u32,
    /// Position of the score within the conversation.
    pub part: u32,
}

/// Rows in the order in which they finished, and the position of each. Memory holds 32 bytes a row, not the rows.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    state: Mutex<State>,
}

/// The largest buffer that is kept for the next row. A larger one is freed.
const KEEP_ROOM: usize = 64 * 1024;

/// How long a row may stay in memory before readers that follow the run can see it, if another row follows.
const SEEN_AFTER: Duration = Duration::from_millis(500);

#[derive(Debug)]
struct State {
    /// The buffer for a row, unless a writer is using it. It has grown to the size of the rows, and is in the processor's cache.
    room: Vec<u8>,
    file: BufWriter<File>,
    flushed: Instant,
    end: u64,
    rows: Vec<(RowPosition, u64, u32)>,
}

impl Spool {
    /// An empty spool at `path`. Rows that a killed run left there are dropped: their replies are in the cache.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::write(path, error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        let state = State {
            room: Vec::new(),
            file: BufWriter::with_capacity(1 << 16, file),
            flushed: Instant::now(),
            end: 0,
            rows: Vec::new(),
        };
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(state),
        })
    }

    /// Appends a row. It is serialised before the lock is taken.
    ///
    /// # Errors
    /// When the row cannot be written: a full disk, for example.
    pub fn push<T: Serialize>(&self, place: RowPosition, row: &T) -> Result<(), RunError> {
        let failed = |error| RunError::write(&self.path, error);
        let mut text = std::mem::take(&mut self.lock().room);
        append_row(&mut text, row).map_err(failed)?;
        let mut guard = self.lock();
        let state = &mut *guard;
        state.file.write_all(&text).map_err(failed)?;
        if state.flushed.elapsed() >= SEEN_AFTER {
            state.file.flush().map_err(failed)?;
            state.flushed = Instant::now();
        }
        let length = u32::try_from(text.len())
            .map_err(|_| failed(io::Error::other("a row is larger than 4 GiB")))?;
        state.rows.push((place, state.end, length));
        state.end += u64::from(length);
        if text.capacity() <= KEEP_ROOM {
            text.clear();
            state.room = text;
        }
        Ok(())
    }

    /// Passes each row to `take`, in the order in which they finished.
    ///
    /// # Errors
    /// When the rows cannot be read back.
    pub fn each_row<T: DeserializeOwned>(&self, mut take: impl FnMut(T)) -> Result<(), RunError> {
        let failed = |error: io::Error| RunError::read(&self.path, error);
        let mut guard = self.lock();
        let state = &mut *guard;
        let flushed = state.file.flush();
        flushed.map_err(|error| RunError::write(&self.path, error))?;
        let mut file = files::open(&self.path)
            .map(BufReader::new)
            .map_err(failed)?;
        let mut text = Vec::new();
        // Rows are appended, so this is also the order of the file.
        for (_, _, length) in &state.rows {
            text.resize(*length as usize, 0);
            file.read_exact(&mut text).map_err(failed)?;
            take(serde_json::from_slice(&text).map_err(|error| failed(error.into()))?);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the spool with its rows.
    pub fn discard(self) -> Result<(), RunError> {
        fs::remove_file(&self.path).map_err(|error| RunError::write(&self.path, error))
    }

    /// Replaces the file at `path` with the JSON list of all rows in order, and removes the spool.
    ///
    /// # Errors
    /// When a file cannot be read or written. The file at `path` is then unchanged.
    pub fn compose(self, path: &Path) -> Result<ComposedFile, RunError> {
        let (composed, ()) = self.compose_and(path, |_| ())?;
        Ok(composed)
    }

    /// Like [`compose`](Self::compose), for the rows of a target at `path`, in `form`. The other form is removed when the new one is complete.
    /// `read` gets the text of the plain file while the rows are written, and may stop before its end.
    ///
    /// # Errors
    /// As [`compose`](Self::compose).
    pub(crate) fn compose_rows<T>(
        self,
        path: &Path,
        form: RowForm,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<(ComposedFile, T), RunError> {
        let plain = plain_path(path);
        match form {
            RowForm::Plain => {
                let composed = self.compose_and(&plain, read)?;
                remove_segments(&plain)?;
                Ok(composed)
            }
            RowForm::Segments => {
                let sorted = self.sort()?;
                let mut writer = SegmentWriter::create(&plain)?;
                let copied = sorted.copy_to(&mut writer, read).map(|(_, taken)| taken);
                let taken = copied.map_err(|error| writer.failed(error))?;
                let sha256 = writer.finish()?;
                Ok((sorted.finish(sha256)?, taken))
            }
        }
    }

    /// Like [`compose`](Self::compose). `read` gets the content of the file while it is written, and may stop before its end.
    fn compose_and<T>(
        self,
        path: &Path,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<(ComposedFile, T), RunError> {
        let sorted = self.sort()?;
        let (taken, sha256) = write_atomically(path, |writer| {
            let (out, taken) = sorted.copy_to(DigestWriter::new(writer), read)?;
            Ok((taken, out.finish()))
        })?;
        Ok((sorted.finish(sha256)?, taken))
    }

    fn sort(self) -> Result<SortedRows, RunError> {
        let state = self.state.into_inner();
        let State { file, mut rows, .. } = state.unwrap_or_else(PoisonError::into_inner);
        let file = file
            .into_inner()
            .map_err(|error| RunError::write(&self.path, error.into_error()))?;
        rows.sort_unstable_by_key(|(place, at, _)| (*place, *at));
        Ok(SortedRows {
            path: self.path,
            file,
            rows,
        })
    }
}

/// A spool that gets no more rows.
struct SortedRows {
    path: PathBuf,
    file: File,
    rows: Vec<(RowPosition, u64, u32)>,
}

impl SortedRows {
    /// Copies the JSON list of the rows to `out`. `read` gets its text meanwhile.
    fn copy_to<W: Write, T>(
        &self,
        out: W,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> io::Result<(W, T)> {
        let rows = OrderedRows::new(&self.file, &self.rows)?;
        let mut content = Copied::new(rows, out);
        let taken = read(&mut content);
        Ok((content.finish()?, taken))
    }

    /// Removes the spool.
    fn finish(self, sha256: String) -> Result<ComposedFile, RunError> {
        fs::remove_file(&self.path).map_err(|error| RunError::write(&self.path, error))?;
        let rows = self.rows.len() as u64;
        Ok(ComposedFile { rows, sha256 })
    }
}

/// A file that was composed from a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedFile {
    /// The number of its rows.
    pub rows: u64,
    /// Its SHA-256; of segments that of the plain file.
    pub sha256: String,
}

/// Writes the rows of the spool at `path` to `out` as a JSON list, in the order in which they finished, and returns their number. The run
/// that fills the spool is not disturbed, and an incomplete row is left out.
///
/// # Errors
/// When the spool cannot be read, or `out` cannot be written.
pub(crate) fn copy_spooled(path: &Path, out: &mut impl Write) -> io::Result<u64> {
    let file = BufReader::with_capacity(1 << 16, files::open(path)?);
    let mut rows = 0;
    for row in Deserializer::from_reader(file).into_iter::<Box<RawValue>>() {
        match row {
            Ok(row) => {
                out.write_all(if rows == 0 { b"[\n  " } else { b",\n  " })?;
                out.write_all(row.get().as_bytes())?;
                rows += 1;
            }
            Err(error) if error.is_io() => return Err(error.into()),
            // The last row is being written.
            Err(_) => break,
        }
    }
    out.write_all(if rows == 0 { b"[]\n" } else { b"\n]\n" })?;
    Ok(rows)
}

/// Appends a row formatted as an element of the list: one level deeper than on its own.
fn append_row<T: Serialize>(text: &mut Vec<u8>, row: &T) -> io::Result<()> {
    text.reserve(4096);
    let mut layout = PrettyFormatter::new();
    // The formatter must assume an open list. The bracket itself is written when the file is composed.
    layout.begin_array(&mut io::sink())?;
    row.serialize(&mut Serializer::with_formatter(text, layout))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_in_place_order_as_plain_pretty_json() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::create(&folder.path().join("spool")).unwrap();
        let place = |scenario| RowPosition {
            metric: 0,
            scenario,
            sample: 0,
            part: 0,
        };
        let row = |n: u32| {
            let deep = serde_json::json!([{"er": [n, []]}]);
            serde_json::json!({"n": n, "text": "a\nb", "none": {}, "deep": deep})
        };
        for n in [2u32, 0, 1] {
            spool.push(place(n), &row(n)).unwrap();
        }
        let path = folder.path().join("rows.json");
        assert_eq!(spool.compose(&path).unwrap().rows, 3);
        let text = fs::read_to_string(&path).unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            text,
            format!("{}\n", serde_json::to_string_pretty(&rows).unwrap())
        );
        assert_eq!(
            rows.iter()
                .map(|row| row["n"].as_u64().unwrap())
                .collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert!(!folder.path().join("spool").exists());
    }

    #[test]
    fn rows_of_any_length_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::create(&folder.path().join("spool")).unwrap();
        let rows: Vec<String> = [5000, 3, 2 * KEEP_ROOM, 0, 70]
            .map(|n| "\"".repeat(n))
            .into();
        for row in &rows {
            spool.push(RowPosition::default(), row).unwrap();
            assert!(spool.lock().room.capacity() <= KEEP_ROOM);
        }
        let mut read: Vec<String> = Vec::new();
        spool.each_row(|row| read.push(row)).unwrap();
        assert_eq!(read, rows);
        let path = folder.path().join("rows.json");
        assert_eq!(spool.compose(&path).unwrap().rows, 5);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), rows);
    }

    #[test]
    fn a_spool_that_is_being_filled_is_read_to_its_last_whole_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let spool = Spool::create(&path).unwrap();
        let copied = |length: u64| {
            let partial = folder.path().join("partial");
            fs::copy(&path, &partial).unwrap();
            let file = File::options().write(true).open(&partial).unwrap();
            file.set_len(length).unwrap();
            let mut list = Vec::new();
            let rows = copy_spooled(&partial, &mut list).unwrap();
            let list: Vec<serde_json::Value> = serde_json::from_slice(&list).unwrap();
            assert_eq!(list.len() as u64, rows);
            rows
        };
        assert_eq!(copied(0), 0);
        let mut ends = Vec::new();
        for n in 0..3 {
            let row = serde_json::json!({"n": n, "text": "}{ \u{e4} \n", "list": [{}]});
            spool.push(RowPosition::default(), &row).unwrap();
            spool.lock().file.flush().unwrap();
            ends.push(fs::metadata(&path).unwrap().len());
        }
        for length in 0..=ends[2] {
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(copied(length), whole as u64, "{length}");
        }
    }

    #[test]
    fn rows_can_be_seen_while_others_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let spool = Spool::create(&path).unwrap();
        spool.push(RowPosition::default(), &1).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        spool.lock().flushed -= SEEN_AFTER;
        spool.push(RowPosition::default(), &2).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_with_what_to_do() {
        let spool = Spool::create(Path::new("/dev/full")).unwrap();
        let row = serde_json::json!({"text": "x".repeat(1 << 17)});
        let error = spool.push(RowPosition::default(), &row).unwrap_err();
        assert_eq!(error.kind(), crate::RunErrorKind::Output);
        assert!(error.to_string().contains("Free some space"), "{error}");
    }
}
