//! The shipped store: a SQLite file.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use rusqlite::Connection;

use super::{
    CacheError, CacheKey, EndpointHash, KeptPace, ReplyStore, StoreError, StoredReply, bounds,
    error::is_too_long,
    file, kept_pace,
    row::{COLUMNS, Row},
    writer::Writer,
};

/// Replies in a SQLite file in WAL mode, the store of [`Cache::open`](crate::Cache::open).
///
/// One thread writes; a commit takes all replies that wait for one, and `put` returns after the commit. Several processes may
/// have the file open at once, each sees what the others stored, and the reply that was stored last under a key is kept.
/// Every row has a checksum: a damaged reply is never returned. If SQLite finds a page damaged, the file is repaired.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Idle connections for reading, at most as many as threads that read at once.
    readers: Mutex<Vec<Connection>>,
    writer: Writer,
}

impl SqliteStore {
    /// The version of the file's layout.
    pub const FORMAT: i64 = file::FORMAT;

    /// Opens the file at `path`. The file and its folder are created if they do not exist. It grows no larger than `max_bytes`.
    ///
    /// # Errors
    /// Like [`Cache::open`](crate::Cache::open).
    pub fn open(path: impl AsRef<Path>, max_bytes: Option<u64>) -> Result<Self, CacheError> {
        let path = path.as_ref();
        let writing = file::open(path)?;
        if let Some(bytes) = max_bytes {
            file::limit(&writing, bytes).map_err(|error| CacheError::sqlite(path, error))?;
        }
        // Opened now, so that a failure shows here and not in the middle of a run.
        let reader = file::open_reader(path).map_err(|error| CacheError::sqlite(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            readers: Mutex::new(vec![reader]),
            writer: Writer::start(writing, path)?,
        })
    }

    fn read<T>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CacheError> {
        let failed = |error| CacheError::sqlite(&self.path, error);
        let readers = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::open_reader(&self.path).map_err(failed)?,
        };
        let result = run(&connection).map_err(failed);
        readers().push(connection);
        result
    }

    fn find(&self, key: &CacheKey) -> Result<Option<StoredReply>, StoreError> {
        let found = self.read(|connection| {
            let find = format!("SELECT {COLUMNS} FROM replies WHERE key = ?1");
            let mut select = connection.prepare_cached(&find)?;
            let mut rows = select.query([key.as_bytes()])?;
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(None),
                // The next reply takes its place.
                Err(error) if is_too_long(&error) => {
                    return Ok(Some(None));
                }
                Err(error) => return Err(error),
            };
            // A damaged index may lead to the row of another key.
            let row = Row::read_intact(row)?.filter(|row| row.key == key.as_bytes());
            Ok(Some(row.and_then(Row::into_reply)))
        })?;
        match found {
            Some(None) => Err(StoreError::Damaged),
            Some(reply) => Ok(reply),
            None => Ok(None),
        }
    }
}

#[async_trait]
impl ReplyStore for SqliteStore {
    async fn get(&self, key: &CacheKey) -> Result<Option<StoredReply>, StoreError> {
        let found = self.find(key);
        if !found.as_ref().is_err_and(is_damage) {
            return found;
        }
        self.writer.repair().await;
        match self.find(key) {
            Err(error) if is_damage(&error) => Err(StoreError::Damaged),
            found => found,
        }
    }

    async fn put(&self, key: &CacheKey, reply: &StoredReply) -> Result<(), StoreError> {
        Ok(self.writer.put(key, reply).await?)
    }

    fn count(&self) -> Result<u64, StoreError> {
        // With a limit, because damaged pages may lead in circles.
        let count = "SELECT count(*) FROM (SELECT 1 FROM replies LIMIT ?1)";
        Ok(self.read(|connection| {
            let most = bounds::most_rows(connection)?;
            let limit = i64::try_from(most).unwrap_or(i64::MAX);
            let count: i64 = connection.query_row(count, [limit], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })?)
    }

    fn pace(&self, endpoint: &EndpointHash) -> Result<Option<KeptPace>, StoreError> {
        Ok(self.read(|connection| kept_pace::find(connection, endpoint))?)
    }

    fn keep_pace(&self, endpoint: EndpointHash, pace: KeptPace) {
        self.writer.keep_pace(endpoint, pace);
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether SQLite found damaged pages.
fn is_damage(error: &StoreError) -> bool {
    let StoreError::Failed(error) = error else {
        return false;
    };
    let error = error.downcast_ref::<CacheError>();
    error.is_some_and(CacheError::is_damage)
}
