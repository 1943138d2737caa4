//! Rows in a temporary file, found by a key.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
};

use store::RunError;

/// Rows on disk that are found by a key. Memory holds the keys only.
#[derive(Debug)]
pub(super) struct DiskIndex {
    file: BufWriter<File>,
    positions: HashMap<u64, Vec<(u64, u32)>>,
    length: u64,
}

impl DiskIndex {
    pub(super) fn new() -> Result<Self, RunError> {
        let file = tempfile::tempfile().map_err(unusable)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 16, file),
            positions: HashMap::new(),
            length: 0,
        })
    }

    /// Adds a row under `key`.
    pub(super) fn put(&mut self, key: u64, row: &impl serde::Serialize) -> Result<(), RunError> {
        let text = serde_json::to_vec(row).map_err(|error| unusable(error.into()))?;
        self.put_text(key, &text)
    }

    /// Adds a row that is JSON already.
    pub(super) fn put_text(&mut self, key: u64, text: &[u8]) -> Result<(), RunError> {
        self.file.write_all(text).map_err(unusable)?;
        let length =
            u32::try_from(text.len()).map_err(|_| RunError::input("a row is longer than 4 GiB"))?;
        self.positions
            .entry(key)
            .or_default()
            .push((self.length, length));
        self.length += u64::from(length);
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
            .map(|position| self.read(position))
            .collect()
    }

    fn read<T: serde::de::DeserializeOwned>(
        &mut self,
        (start, length): (u64, u32),
    ) -> Result<T, RunError> {
        let mut read = || -> std::io::Result<T> {
            // The buffer is written first.
            self.file.seek(SeekFrom::Start(start))?;
            let mut text = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            self.file.get_mut().read_exact(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        read().map_err(unusable)
    }

    /// How many rows were not taken.
    pub(super) fn left(&self) -> usize {
        self.positions.values().map(Vec::len).sum()
    }
}

fn unusable(error: std::io::Error) -> RunError {
    RunError::output(format!("the temporary folder cannot be used: {error}")).with_source(error)
}

/// A key of `parts`.
pub(super) fn hash_key(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
