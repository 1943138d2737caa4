//! Rows in a temporary file, looked up by a key: what is too large for memory, of a run of millions of rows.

use std::{
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::RunError;

/// Rows on disk, looked up by a key. Memory holds 24 bytes for each row.
#[derive(Debug, Default)]
pub struct DiskIndex {
    file: DiskFile,
    positions: DiskPositions,
}

impl DiskIndex {
    /// The rows of `file`, which are at `positions`.
    #[must_use]
    pub fn of_file(file: DiskFile, positions: DiskPositions) -> Self {
        Self { file, positions }
    }

    /// Adds a row under `key`.
    ///
    /// # Errors
    /// When the temporary folder cannot be used.
    pub fn put(&mut self, key: u64, row: &impl Serialize) -> Result<(), RunError> {
        let position = self.file.put(row)?;
        self.positions.add(key, position);
        Ok(())
    }

    /// Adds a row that is already JSON.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_text(&mut self, key: u64, text: &[u8]) -> Result<(), RunError> {
        let position = self.file.put_text(text)?;
        self.positions.add(key, position);
        Ok(())
    }

    /// Whether there is a row under `key`.
    pub fn has(&mut self, key: u64) -> bool {
        self.positions.of(key).next().is_some()
    }

    /// The rows under `key`, in the order in which they were added.
    ///
    /// # Errors
    /// When the temporary folder cannot be used.
    pub fn get<T: DeserializeOwned>(&mut self, key: u64) -> Result<Vec<T>, RunError> {
        let positions = self.positions.of(key);
        positions.map(|position| self.file.read(position)).collect()
    }

    /// Like [`get`](Self::get), and removes the rows.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn take<T: DeserializeOwned>(&mut self, key: u64) -> Result<Vec<T>, RunError> {
        let rows = self.get(key)?;
        self.positions.remove(key);
        Ok(rows)
    }

    /// The number of rows that were not taken.
    #[must_use]
    pub fn left(&self) -> usize {
        self.positions.len()
    }
}

/// The position of a row in a [`DiskFile`].
#[derive(Clone, Copy, Debug)]
pub struct DiskPosition {
    /// The row's first byte.
    pub start: u64,
    /// Its bytes.
    pub length: u32,
}

/// The positions of rows in a [`DiskFile`], by their keys. A sorted list has a quarter of the memory of a map of lists.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DiskPositions {
    rows: Vec<KeyedPosition>,
    /// Whether `rows` are in the order of their keys and positions.
    #[serde(skip)]
    is_sorted: bool,
    /// How many of `rows` were removed.
    #[serde(skip)]
    removed: usize,
}

/// The position of a row, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u32)", into = "(u64, u64, u32)")]
struct KeyedPosition {
    key: u64,
    start: u64,
    length: u32,
    is_removed: bool,
}

impl From<(u64, u64, u32)> for KeyedPosition {
    fn from((key, start, length): (u64, u64, u32)) -> Self {
        Self {
            key,
            start,
            length,
            is_removed: false,
        }
    }
}

impl From<KeyedPosition> for (u64, u64, u32) {
    fn from(row: KeyedPosition) -> Self {
        (row.key, row.start, row.length)
    }
}

impl DiskPositions {
    /// Adds the position of a row under `key`, which is behind all others in the file.
    pub fn add(&mut self, key: u64, position: DiskPosition) {
        let DiskPosition { start, length } = position;
        self.rows.push((key, start, length).into());
        self.is_sorted = false;
    }

    /// The positions under `key`, in the order in which they were added.
    pub fn of(&mut self, key: u64) -> impl Iterator<Item = DiskPosition> {
        let there = self.with_key(key).iter().filter(|row| !row.is_removed);
        there.map(|row| DiskPosition {
            start: row.start,
            length: row.length,
        })
    }

    /// Removes the positions under `key`.
    pub fn remove(&mut self, key: u64) {
        let mut removed = 0;
        for row in self.with_key(key) {
            removed += usize::from(!row.is_removed);
            row.is_removed = true;
        }
        self.removed += removed;
    }

    /// The number of positions that were not removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len() - self.removed
    }

    /// Whether there is no position.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys, some of them several times.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.key)
    }

    /// The positions in the order of the file.
    #[must_use]
    pub fn in_order(&self) -> Vec<DiskPosition> {
        let there = self.by_start().into_iter();
        there
            .map(|row| DiskPosition {
                start: row.start,
                length: row.length,
            })
            .collect()
    }

    /// The positions of the same rows in a file that has only them, in the same order.
    #[must_use]
    pub fn side_by_side(&self) -> Self {
        let mut rows = self.by_start();
        let mut next = 0;
        for row in &mut rows {
            row.start = next;
            next += u64::from(row.length);
        }
        Self {
            rows,
            ..Self::default()
        }
    }

    /// Moves all positions by `bytes`. Returns the end of the last row; without rows, `bytes`.
    pub fn move_by(&mut self, bytes: u64) -> u64 {
        let mut end = bytes;
        for row in &mut self.rows {
            row.start = row.start.saturating_add(bytes);
            end = end.max(row.start.saturating_add(row.length.into()));
        }
        end
    }

    fn by_start(&self) -> Vec<KeyedPosition> {
        let mut rows = self.rows.clone();
        rows.retain(|row| !row.is_removed);
        rows.sort_unstable_by_key(|row| row.start);
        rows
    }

    fn with_key(&mut self, key: u64) -> &mut [KeyedPosition] {
        if !self.is_sorted {
            self.rows.sort_unstable();
            self.is_sorted = true;
        }
        let first = self.rows.partition_point(|row| row.key < key);
        let rows = self.rows.get_mut(first..).unwrap_or_default();
        let end = rows.partition_point(|row| row.key <= key);
        rows.get_mut(..end).unwrap_or_default()
    }
}

/// Rows in a temporary file, which is there as soon as it has a row.
#[derive(Debug, Default)]
pub struct DiskFile {
    file: Option<BufWriter<File>>,
    length: u64,
    /// Whether the file's own position is not after the last row.
    is_elsewhere: bool,
}

impl DiskFile {
    /// The rows of an existing file, which are only read.
    #[must_use]
    pub fn of_file(file: File) -> Self {
        Self {
            file: Some(BufWriter::new(file)),
            length: 0,
            is_elsewhere: true,
        }
    }

    /// Whether no row was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the temporary folder cannot be used.
    pub fn put(&mut self, row: &impl Serialize) -> Result<DiskPosition, RunError> {
        let text = serde_json::to_vec(row).map_err(|error| unusable(error.into()))?;
        self.put_text(&text)
    }

    /// Adds a row that is already JSON.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_text(&mut self, text: &[u8]) -> Result<DiskPosition, RunError> {
        let length =
            u32::try_from(text.len()).map_err(|_| RunError::input("a row is longer than 4 GiB"))?;
        let start = self.length;
        self.write(text).map_err(unusable)?;
        self.length += u64::from(length);
        Ok(DiskPosition { start, length })
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(BufWriter::with_capacity(1 << 16, tempfile::tempfile()?)),
        };
        if std::mem::take(&mut self.is_elsewhere) {
            file.seek(SeekFrom::Start(self.length))?;
        }
        file.write_all(text)
    }

    /// The row at `position`.
    ///
    /// # Errors
    /// When the temporary folder cannot be used, or there is no such row.
    pub fn read<T: DeserializeOwned>(&mut self, position: DiskPosition) -> Result<T, RunError> {
        let text = self.read_text(position).map_err(unusable)?;
        serde_json::from_slice(&text).map_err(|error| unusable(error.into()))
    }

    /// The JSON of the row at `position`.
    ///
    /// # Errors
    /// When the file cannot be read, or there is no such row.
    pub fn read_text(&mut self, position: DiskPosition) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.is_elsewhere = true;
        // Seeking also flushes the write buffer.
        file.seek(SeekFrom::Start(position.start))?;
        let mut text = vec![0; usize::try_from(position.length).unwrap_or(usize::MAX)];
        file.get_mut().read_exact(&mut text)?;
        Ok(text)
    }

    /// Writes all rows to `out`, in the order in which they were added.
    ///
    /// # Errors
    /// When the file cannot be read, or `out` not written.
    pub fn copy_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        self.is_elsewhere = true;
        file.rewind()?;
        io::copy(&mut Read::by_ref(file.get_mut()).take(self.length), out)?;
        Ok(())
    }
}

fn unusable(error: io::Error) -> RunError {
    RunError::output(format!("the temporary folder cannot be used: {error}")).with_source(error)
}

/// Hashes `parts` to a key.
pub fn hash_key(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_the_order_in_which_they_were_added() {
        let mut index = DiskIndex::default();
        assert!(index.get::<u32>(1).unwrap().is_empty());
        for row in 0..100_u32 {
            index.put(u64::from(row % 10), &row).unwrap();
        }
        assert_eq!(index.get::<u32>(3).unwrap().first(), Some(&3));
        index.put_text(3, b"7").unwrap();
        let of_three = [3, 13, 23, 33, 43, 53, 63, 73, 83, 93, 7];
        assert_eq!(index.take::<u32>(3).unwrap(), of_three);
        assert!(index.take::<u32>(3).unwrap().is_empty() && !index.has(3));
        assert_eq!(index.left(), 90);
        index.put(3, &5).unwrap();
        assert_eq!(index.take::<u32>(3).unwrap(), [5]);
    }

    #[test]
    fn a_row_has_24_bytes_of_memory() {
        assert_eq!(size_of::<KeyedPosition>(), 24);
    }

    #[test]
    fn positions_move_to_another_file() {
        let mut file = DiskFile::default();
        let mut positions = DiskPositions::default();
        for row in ["of another", "first", "of another", "second"] {
            let position = file.put(&row).unwrap();
            if row != "of another" {
                positions.add(1, position);
            }
        }
        let mut moved = positions.side_by_side();
        let mut other = tempfile::tempfile().unwrap();
        other.write_all(b"head").unwrap();
        for position in positions.in_order() {
            other.write_all(&file.read_text(position).unwrap()).unwrap();
        }
        assert_eq!(moved.move_by(4), other.metadata().unwrap().len());
        let mut index = DiskIndex::of_file(DiskFile::of_file(other), moved);
        assert_eq!(index.get::<String>(1).unwrap(), ["first", "second"]);
        let mut all = Vec::new();
        file.copy_to(&mut all).unwrap();
        assert!(all.starts_with(b"\"of another\"\"first\"") && all.ends_with(b"\"second\""));
    }
}
