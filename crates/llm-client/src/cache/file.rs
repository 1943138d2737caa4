//! The file: a SQLite database in WAL mode with one table.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::{bounds, earlier, error::CacheError, repair};

/// The layout's version. A newer file is refused; an older one is migrated when it is opened for writing.
pub(super) const FORMAT: i64 = 4;
/// Marks the file as ours: "PrbC".
const APPLICATION: i64 = 0x5072_6243;
/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the file for writing, and creates it if it does not exist. A file of an earlier version is migrated, and a damaged
/// one repaired.
pub(super) fn open(path: &Path) -> Result<Connection, CacheError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| CacheError::Folder {
            path: path.to_owned(),
            source,
        })?;
    }
    match prepare(path) {
        Err(error) if error.is_damage() => {
            // If it cannot be repaired, the first error says why it cannot be used.
            repair_file(path).map_err(|_| error)?;
            prepare(path)
        }
        result => result,
    }
}

fn prepare(path: &Path) -> Result<Connection, CacheError> {
    let sqlite = |source| CacheError::sqlite(path, source);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(sqlite)?;
    // Checked before anything is changed: the file may belong to another program.
    identify(&connection, path)?;
    write_ahead(&connection).map_err(sqlite)?;
    bounds::within(&mut connection, |connection| migrate(connection, path)).map_err(sqlite)??;
    earlier::take_in_tails(&mut connection, path)?;
    Ok(connection)
}

fn repair_file(path: &Path) -> Result<(), CacheError> {
    let sqlite = |source| CacheError::sqlite(path, source);
    let mut connection = connect(path, OpenFlags::empty()).map_err(sqlite)?;
    match identify(&connection, path)? {
        Owner::Probity { .. } => repair::repair(&mut connection, path)
            .map(|_lost| ())
            .map_err(sqlite),
        Owner::Nobody => Err(CacheError::Foreign {
            path: path.to_owned(),
        }),
    }
}

/// Opens a file of any layout for reading. SQLite's read-only mode is not used, because it cannot read the log of a killed process.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::empty())?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Finds damage when a page is read, before its content is used.
    connection.pragma_update(None, "cell_size_check", true)?;
    bounds::limit_lengths(&connection)?;
    // Reads the schema, whose pages may lead in circles, too.
    bounds::within(&mut connection, |connection| table_count(connection))??;
    Ok(connection)
}

/// The number of tables and indices; large numbers are not counted to the end.
fn table_count(connection: &Connection) -> rusqlite::Result<i64> {
    let tables = "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 100)";
    connection.query_row(tables, [], |row| row.get(0))
}

/// The owner of the file.
pub(super) enum Owner {
    Nobody,
    Probity { format: i64 },
}

/// Finds the owner of the file. Fails if this version cannot use it.
pub(super) fn identify(connection: &Connection, path: &Path) -> Result<Owner, CacheError> {
    let numbers = || -> rusqlite::Result<(i64, i64, i64)> {
        Ok((
            pragma(connection, "application_id")?,
            pragma(connection, "user_version")?,
            table_count(connection)?,
        ))
    };
    let path = || path.to_owned();
    match numbers().map_err(|source| CacheError::sqlite(&path(), source))? {
        (APPLICATION, found, _) if found > FORMAT => Err(CacheError::Newer {
            path: path(),
            found,
            known: FORMAT,
        }),
        (APPLICATION, format, _) => Ok(Owner::Probity { format }),
        (0, 0, 0) => Ok(Owner::Nobody),
        _ => Err(CacheError::Foreign { path: path() }),
    }
}

/// WAL keeps every committed reply when the process is killed, without waiting for the disk at each commit. Replies that a power
/// cut destroys are requested again.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        let mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        match mode {
            // SQLite does not always wait by itself when two processes switch at once.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && tries < 100 =>
            {
                tries += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            result => {
                result?;
                break;
            }
        }
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    // 16 MiB of log between two checkpoints, and no larger log left behind.
    checkpoint_after(connection, 16 << 20)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)
}

/// Lets `connection` checkpoint when a commit finds that the log has `bytes`.
pub(super) fn checkpoint_after(connection: &Connection, bytes: i64) -> rusqlite::Result<()> {
    let pages = bytes / pragma(connection, "page_size")?.max(1);
    connection.pragma_update(None, "wal_autocheckpoint", pages)
}

/// Opens a second connection to a file that is open for writing, for checkpoints.
pub(super) fn open_checkpointer(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::empty())?;
    connection.pragma_update(None, "synchronous", "normal")?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), CacheError> {
    let sqlite = |source| CacheError::sqlite(path, source);
    // Another process may be doing the same, so the lock is taken first.
    let transaction = begin(connection).map_err(sqlite)?;
    if !matches!(identify(&transaction, path)?, Owner::Probity { format } if format == FORMAT) {
        earlier::migrate(&transaction).map_err(sqlite)?;
        mark(&transaction).map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

/// Marks the file as ours, in the layout of this version.
pub(super) fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Begins a transaction that writes. The lock is taken now, so that waiting for another process happens here and nowhere else.
pub(super) fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// A setting or figure of the database that is a number.
pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Keeps the file from growing past `bytes`.
pub(super) fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let page = pragma(connection, "page_size")?.max(1);
    // 2^32 - 2 pages is the most that SQLite takes.
    let pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page).clamp(1, 0xffff_fffe);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}
