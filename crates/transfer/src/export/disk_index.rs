//! Rows in a temporary file, looked up by a key.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
};

use serde::{Deserialize, Serialize};
use store::RunError;

/// Rows on disk, looked up by a key. Memory holds only the keys.
#[derive(Debug)]
pub(super) struct DiskIndex {
    file: DiskFile,
    positions: HashMap<u64, Vec<DiskPosition>>,
}

impl DiskIndex {
    pub(super) fn new() -> Result<Self, RunError> {
        Ok(Self {
            file: DiskFile::new()?,
            positions: HashMap::new(),
        })
    }

    /// Adds a row under `key`.
    pub(super) fn put(&mut self, key: u64, row: &impl Serialize) -> Result<(), RunError> {
        let position = self.file.put(row)?;
        self.positions.entry(key).or_default().push(position);
        Ok(())
    }

    /// Adds a row that is already JSON.
    pub(super) fn put_text(&mut self, key: u64, text: &[u8]) -> Result<(), RunError> {
        let position = self.file.put_text(text)?;
        self.positions.entry(key).or_default().push(position);
        Ok(())
    }

    /// The rows under `key`, in the order in which they were added. They are removed.
    pub(super) fn take<T: serde::de::DeserializeOwned>(
        &mut self,
        key: u64,
    ) -> Result<Vec<T>, RunError> {
        let positions = self.positions.remove(&key).unwrap_or_default();
        positions
            .into_iter()
            .map(|position| self.file.read(position))
            .collect()
    }

    /// The number of rows that were not taken.
    pub(super) fn left(&self) -> usize {
        self.positions.values().map(Vec::len).sum()
    }
}

/// Rows in a temporary file.
#[derive(Debug)]
pub(super) struct DiskFile {
    file: BufWriter<File>,
    length: u64,
    /// Whether the file's own position is after the last row.
    at_end: bool,
}

/// The position of a row in a [`DiskFile`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DiskPosition {
    pub(super) start: u64,
    pub(super) length: u32,
}

impl DiskFile {
    pub(super) fn new() -> Result<Self, RunError> {
        let file = tempfile::tempfile().map_err(unusable)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 16, file),
            length: 0,
            at_end: true,
        })
    }

    /// The rows of an existing file, which are only read.
    pub(super) fn of_file(file: File) -> Self {
        Self {
            file: BufWriter::new(file),
            length: 0,
            at_end: false,
        }
    }

    /// Adds a row.
    pub(super) fn put(&mut self, row: &impl Serialize) -> Result<DiskPosition, RunError> {
        let text = serde_json::to_vec(row).map_err(|error| unusable(error.into()))?;
        self.put_text(&text)
    }

    fn put_text(&mut self, text: &[u8]) -> Result<DiskPosition, RunError> {
        let length =
            u32::try_from(text.len()).map_err(|_| RunError::input("a row is longer than 4 GiB"))?;
        let start = self.length;
        if !self.at_end {
            self.file.seek(SeekFrom::Start(start)).map_err(unusable)?;
            self.at_end = true;
        }
        self.file.write_all(text).map_err(unusable)?;
        self.length += u64::from(length);
        Ok(DiskPosition { start, length })
    }

    /// The row at `position`.
    pub(super) fn read<T: serde::de::DeserializeOwned>(
        &mut self,
        position: DiskPosition,
    ) -> Result<T, RunError> {
        let text = self.read_text(position).map_err(unusable)?;
        serde_json::from_slice(&text).map_err(|error| unusable(error.into()))
    }

    /// The JSON of the row at `position`.
    pub(super) fn read_text(&mut self, position: DiskPosition) -> std::io::Result<Vec<u8>> {
        self.at_end = false;
        // Seeking also flushes the write buffer.
        self.file.seek(SeekFrom::Start(position.start))?;
        let mut text = vec![0; usize::try_from(position.length).unwrap_or(usize::MAX)];
        self.file.get_mut().read_exact(&mut text)?;
        Ok(text)
    }
}

fn unusable(error: std::io::Error) -> RunError {
    RunError::output(format!("the temporary folder cannot be used: {error}")).with_source(error)
}

/// Hashes `parts` to a key.
pub(super) fn hash_key(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
