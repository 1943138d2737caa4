//! Removes replies from a cache file.

use std::{path::Path, time::SystemTime};

use rusqlite::Connection;

use super::{
    CacheError, SqliteStore,
    contents::file_bytes,
    error::is_damage,
    file,
    repair::{self, Walked},
    row::{Row, micros},
};

/// The rows to remove: rows that match all parts that are set. If no part is set, no row matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneFilter {
    /// Replies that were stored before this.
    pub before: Option<SystemTime>,
    /// Replies of this model, by its name on the wire.
    pub model: Option<String>,
    /// Rows that are damaged. Nothing else is known about them, so they match no other part.
    pub damaged: bool,
}

/// The result of removing rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Rows that were removed, or would be.
    pub rows: u64,
    /// Bytes of their texts; 0 for damaged rows.
    pub bytes: u64,
    /// Bytes of the file and its write-ahead log before.
    pub file_before: u64,
    /// The same after.
    pub file_after: u64,
    /// Why the file could not be made smaller, if it could not. New replies take the free space in it.
    pub unshrunk: Option<Unshrunk>,
}

/// Why a file keeps its size after rows were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unshrunk {
    /// The disk has too little room for a copy of the remaining content.
    NoRoom {
        /// Bytes that are free.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// SQLite failed, with its reason.
    Failed(String),
}

impl PruneFilter {
    fn matches(&self, row: Option<&Row<'_>>) -> bool {
        let Some(row) = row else {
            return self.damaged && self.before.is_none() && self.model.is_none();
        };
        let old = self.before.map(|before| row.created < micros(before));
        let named = self.model.as_deref().map(|model| row.model == Some(model));
        let any = old.is_some() || named.is_some();
        any && !self.damaged && old.unwrap_or(true) && named.unwrap_or(true)
    }
}

impl SqliteStore {
    /// Removes the rows that `filter` matches from the file at `path`, and makes the file smaller; with `dry_run` it only counts
    /// them, and changes nothing. Other processes may use the file meanwhile: writing waits for their commits, 30 seconds at
    /// most, and they request removed replies again.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn prune(path: &Path, filter: &PruneFilter, dry_run: bool) -> Result<Pruned, CacheError> {
        let sqlite = |error| CacheError::sqlite(path, error);
        let file_before = file_bytes(path);
        let counted = |rows: u64, bytes| Pruned {
            rows,
            bytes,
            file_before,
            file_after: file_before,
            unshrunk: None,
        };
        if dry_run {
            let connection = file::open_reader(path).map_err(sqlite)?;
            file::identify(&connection, path)?;
            let matching = matching(&connection, filter).map_err(sqlite)?;
            return Ok(counted(matching.count(), matching.bytes));
        }
        let mut connection = file::open(path)?;
        let mut is_repaired = false;
        let (rows, bytes) = match remove(&mut connection, filter) {
            Ok(Some(removed)) => (removed.count(), removed.bytes),
            Err(error) if !is_damage(&error) => return Err(sqlite(error)),
            // Rows are in pages that cannot be read. The repair saves those that are intact, and leaves the others out.
            Ok(None) | Err(_) => {
                is_repaired = true;
                let lost = repair::repair(&mut connection, path).map_err(sqlite)?;
                let removed = remove(&mut connection, filter).map_err(sqlite)?;
                let (rows, bytes) =
                    removed.map_or((0, 0), |removed| (removed.count(), removed.bytes));
                match filter.matches(None) {
                    true => (rows + lost, bytes),
                    false => (rows, bytes),
                }
            }
        };
        let unshrunk = match rows {
            0 if !is_repaired => None,
            _ => shrink(&mut connection, path).err(),
        };
        Ok(Pruned {
            unshrunk,
            file_after: file_bytes(path),
            ..counted(rows, bytes)
        })
    }
}

/// The rows that match.
struct Matching {
    /// Their numbers.
    rows: Vec<i64>,
    /// Bytes of their texts.
    bytes: u64,
    walked: Walked,
}

impl Matching {
    fn count(&self) -> u64 {
        self.rows.len() as u64
    }
}

fn matching(connection: &Connection, filter: &PruneFilter) -> rusqlite::Result<Matching> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let walked = repair::walk(connection, |number, row| {
        if filter.matches(row.as_ref()) {
            rows.push(number);
            bytes += row.map_or(0, |row| row.bytes());
        }
        Ok(())
    })?;
    Ok(Matching {
        rows,
        bytes,
        walked,
    })
}

/// Removes the rows that match, all or none. `None`: not all pages can be read, and nothing is removed.
fn remove(connection: &mut Connection, filter: &PruneFilter) -> rusqlite::Result<Option<Matching>> {
    let transaction = file::begin(connection)?;
    let matching = matching(&transaction, filter)?;
    if matching.walked != Walked::Whole {
        return Ok(None);
    }
    let mut delete = transaction.prepare("DELETE FROM replies WHERE rowid = ?1")?;
    for row in &matching.rows {
        delete.execute([row])?;
    }
    drop(delete);
    transaction.commit()?;
    Ok(Some(matching))
}

/// Rewrites the file without the free space in it. SQLite writes a copy of the content into the folder for temporary files,
/// and then into the write-ahead log beside the file.
fn shrink(connection: &mut Connection, path: &Path) -> Result<(), Unshrunk> {
    let failed = |error: rusqlite::Error| Unshrunk::Failed(error.to_string());
    let number = |name| file::pragma(connection, name).map_err(failed);
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    let needed = pages.saturating_mul(number("page_size")?);
    let needed = u64::try_from(needed).unwrap_or(0);
    if let Some(free) = free_bytes(path).filter(|free| *free < needed) {
        return Err(Unshrunk::NoRoom { free, needed });
    }
    repair::vacuum(connection).map_err(failed)?;
    // If another process reads, the last process that closes the file empties the log.
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    emptied.map_err(failed)
}

/// Free bytes of the disk that `path` is on; `None` if the system does not report them.
#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
