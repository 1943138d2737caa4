//! The contents of a cache file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{CacheError, SqliteStore, file, repair, row};

/// The contents of a cache file. Reading them changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheContents {
    /// Bytes on the disk, the write-ahead log included.
    pub file_bytes: u64,
    /// Intact replies.
    pub replies: u64,
    /// Rows that are damaged or cannot be read. A call that needs such a row is made again.
    pub damaged: u64,
    /// The intact replies by endpoint and model.
    pub groups: Vec<CacheGroup>,
}

/// The replies of one model at one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheGroup {
    /// The endpoint's address; `None` for replies that an earlier version stored.
    pub endpoint: Option<String>,
    /// The model's name on the wire; `None` for replies that an earlier version stored.
    pub model: Option<String>,
    /// The number of replies.
    pub replies: u64,
    /// Bytes of their texts.
    pub bytes: u64,
    /// When the oldest was stored.
    pub oldest: SystemTime,
    /// When the newest was stored.
    pub newest: SystemTime,
}

impl CacheContents {
    /// When the oldest reply was stored.
    #[must_use]
    pub fn oldest(&self) -> Option<SystemTime> {
        self.groups.iter().map(|group| group.oldest).min()
    }

    /// When the newest reply was stored.
    #[must_use]
    pub fn newest(&self) -> Option<SystemTime> {
        self.groups.iter().map(|group| group.newest).max()
    }
}

impl SqliteStore {
    /// The contents of the file at `path`. Reads every reply, and compares it with its checksum.
    ///
    /// # Errors
    /// When the file does not exist, cannot be read, belongs to another program, or was written by a newer version of Probity.
    pub fn contents(path: &Path) -> Result<CacheContents, CacheError> {
        let sqlite = |error| CacheError::sqlite(path, error);
        let connection = file::open_reader(path).map_err(sqlite)?;
        file::identify(&connection, path)?;
        let mut contents = CacheContents {
            file_bytes: file_bytes(path),
            ..CacheContents::default()
        };
        let mut groups = BTreeMap::new();
        let walked = repair::walk(&connection, |_, row| {
            let Some(row) = row else {
                contents.damaged += 1;
                return Ok(());
            };
            contents.replies += 1;
            let name = |name: Option<&str>| name.map(str::to_owned);
            let key = (name(row.endpoint), name(row.model));
            let created = row::time(row.created);
            let group = groups.entry(key.clone()).or_insert(CacheGroup {
                endpoint: key.0,
                model: key.1,
                replies: 0,
                bytes: 0,
                oldest: created,
                newest: created,
            });
            group.replies += 1;
            group.bytes += row.bytes();
            group.oldest = group.oldest.min(created);
            group.newest = group.newest.max(created);
            Ok(())
        });
        walked.map_err(sqlite)?;
        contents.groups = groups.into_values().collect();
        Ok(contents)
    }
}

/// Bytes of the file and of its write-ahead log.
pub(super) fn file_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let bytes = |path: &Path| path.metadata().map_or(0, |data| data.len());
    bytes(path) + bytes(&PathBuf::from(log))
}
