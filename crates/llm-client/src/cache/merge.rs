//! Joins cache files.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{
    CacheError, SqliteStore, file,
    row::{COLUMNS, Row},
};

impl SqliteStore {
    /// Adds the replies of the files `from` to the file at `path`, which is created if it does not exist, and returns how many it then has. The
    /// reply that is there first under a key stays. Damaged replies are left out, and what is known of the pace of endpoints.
    ///
    /// # Errors
    /// When a file cannot be read, is not a cache or one of a later version, or the file at `path` cannot be written.
    pub fn merge(path: &Path, from: &[PathBuf]) -> Result<u64, CacheError> {
        let mut into = file::open(path)?;
        for other in from {
            let mut read =
                file::open_reader(other).map_err(|error| CacheError::sqlite(other, error))?;
            let owner = file::identify(&read, other)?;
            if !matches!(owner, file::Owner::Probity { format } if format == file::FORMAT) {
                // One of an earlier version is migrated, as whenever it is used.
                read = file::open(other)?;
            }
            add(&mut into, &read).map_err(|error| CacheError::sqlite(other, error))?;
        }
        let sqlite = |error| CacheError::sqlite(path, error);
        let count: i64 = into
            .query_row("SELECT count(*) FROM replies", [], |row| row.get(0))
            .map_err(sqlite)?;
        let emptied = into.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        emptied.map_err(sqlite)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

fn add(into: &mut Connection, from: &Connection) -> rusqlite::Result<()> {
    let transaction = file::begin(into)?;
    let mut select = from.prepare(&format!("SELECT {COLUMNS} FROM replies"))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(row) = Row::read_intact(row)? {
            // No stored row is older than that, so none is replaced.
            row.insert(&transaction, i64::MIN)?;
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{CacheKey, ReplyStore, StoredReply};

    fn reply(text: &str) -> StoredReply {
        StoredReply {
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
            run_time: Duration::ZERO,
            failed_attempts: schema::Spend::default(),
            body: None,
            wire: serde_json::from_str(&format!("{{\"said\": \"{text}\"}}")).ok(),
            model: None,
            endpoint: None,
        }
    }

    #[tokio::test]
    async fn the_first_reply_under_a_key_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let key = |byte: u8| CacheKey::from_hex(&format!("{byte:02x}").repeat(32)).unwrap();
        for (name, keys) in [("a", [1, 2]), ("b", [2, 3])] {
            let store = SqliteStore::open(path(name), None).unwrap();
            for byte in keys {
                store.put(&key(byte), &reply(name)).await.unwrap();
            }
        }
        let from = [path("a"), path("b")];
        assert_eq!(SqliteStore::merge(&path("all"), &from).unwrap(), 3);
        assert_eq!(SqliteStore::merge(&path("all"), &from).unwrap(), 3);
        let all = SqliteStore::open(path("all"), None).unwrap();
        for (byte, name) in [(1, "a"), (2, "a"), (3, "b")] {
            let found = all.get(&key(byte)).await.unwrap().unwrap();
            assert!(found.wire.unwrap().get().contains(name), "{byte}");
        }
    }
}
