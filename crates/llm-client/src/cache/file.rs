//! The file: a SQLite database in WAL mode with one table.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::{
    error::{CacheError, Problem, is_damage},
    mend, rows,
    tail::{self, Tail},
};

/// The layout's version. A newer file is refused. One of version 2, whose rows have no checksum, is given them; one that is older still is
/// emptied.
const FORMAT: i64 = 3;
/// Marks the file as ours: "PrbC".
const APPLICATION: i64 = 0x5072_6243;
/// Bytes of a page. Each costs calls of the system in the log and in the file, and a large one holds some twenty replies, with less
/// room left over.
const PAGE: i64 = 16 << 10;
/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the table. The checksum comes last, as where it was added to an older table.
pub(super) const CREATE: &str = "
    CREATE TABLE replies (
        key BLOB NOT NULL UNIQUE,
        created INTEGER NOT NULL,
        run_time_us INTEGER NOT NULL,
        failed TEXT,
        response TEXT NOT NULL,
        checksum INTEGER NOT NULL DEFAULT 0
    ) STRICT;
";

/// Opens the file for writing, and makes it where it is not there yet. Gives two empty tails with it, and takes over what killed
/// processes left in theirs.
pub(super) fn open(path: &Path) -> Result<(Connection, [Tail; 2]), CacheError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| CacheError::new(path, Problem::Folder(error)))?;
    }
    let prepare = || -> Result<(Connection, [Tail; 2]), Problem> {
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        // Looked at before anything is changed: the file may be somebody else's.
        identify(&connection)?;
        write_ahead(&connection)?;
        create(&mut connection)?;
        let tails = take_over(&mut connection, path)?;
        Ok((connection, tails))
    };
    let prepared = match prepare() {
        Err(Problem::Sqlite(error)) if is_damage(&error) => {
            repair(path, error).and_then(|()| prepare())
        }
        result => result,
    };
    prepared.map_err(|problem| CacheError::new(path, problem))
}

/// Mends a file that is ours and cannot be used, as `error` says. Fails with that error where it cannot be mended.
fn repair(path: &Path, error: rusqlite::Error) -> Result<(), Problem> {
    let repair = || -> Result<(), Problem> {
        let mut connection = connect(path, OpenFlags::empty())?;
        match identify(&connection)? {
            Owner::Ours { .. } => Ok(mend::mend(&mut connection, path)?),
            Owner::Nobody => Err(Problem::Foreign),
        }
    };
    repair().map_err(|_| Problem::Sqlite(error))
}

/// Opens the file for reading.
pub(super) fn open_reader(path: &Path) -> Result<Connection, CacheError> {
    // Not SQLite's read-only mode: that one cannot mend the log of a killed process.
    connect_reader(path)
        .and_then(|connection| {
            connection.prepare_cached(rows::FIND)?;
            Ok(connection)
        })
        .map_err(|error| CacheError::new(path, error))
}

/// The same for a file of any layout.
pub(super) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::empty())?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Damage is noticed where a page is read, before anything is made of it.
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Whose the file is.
enum Owner {
    Nobody,
    Ours { format: i64 },
}

fn identify(connection: &Connection) -> Result<Owner, Problem> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, format) = (number("application_id")?, number("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, format) {
        (APPLICATION, format) if format > FORMAT => Err(Problem::Newer {
            found: format,
            known: FORMAT,
        }),
        (APPLICATION, format) => Ok(Owner::Ours { format }),
        (0, 0) if tables == 0 => Ok(Owner::Nobody),
        _ => Err(Problem::Foreign),
    }
}

/// WAL keeps every committed reply when the process is killed, without waiting for the disk at each commit. What a power cut
/// takes with it is asked for again.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    // Of a file that is not there yet; others stay as they are.
    connection.pragma_update(None, "page_size", PAGE)?;
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
    // A group is written in the order of the index, so few pages are used more than once.
    connection.pragma_update(None, "cache_size", -1000)?;
    // 16 MiB between two visits of the disk, and no larger log left behind.
    let pages = (16 << 20) / page_size(connection)?;
    connection.pragma_update(None, "wal_autocheckpoint", pages)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)
}

fn create(connection: &mut Connection) -> Result<(), Problem> {
    // Another process may be doing the same: the lock is taken first.
    let transaction = begin(connection)?;
    match identify(&transaction)? {
        Owner::Ours { format: FORMAT } => {}
        Owner::Nobody | Owner::Ours { .. } => match mend::columns(&transaction)? {
            // The number alone does not decide: it may be damaged, and what is emptied has to be paid for again.
            mend::Columns::Checked => mark(&transaction)?,
            mend::Columns::Unchecked => {
                mend::add_checksums(&transaction)?;
                mark(&transaction)?;
            }
            mend::Columns::Other => {
                transaction.execute_batch("DROP TABLE IF EXISTS replies")?;
                transaction.execute_batch(CREATE)?;
                mark(&transaction)?;
            }
        },
    }
    transaction.commit()?;
    Ok(())
}

/// Marks the file as ours, in the layout of this version.
pub(super) fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Stores what killed processes left behind, and makes tails for this one. The lock that comes with writing keeps two processes
/// from doing so at once: a tail that is there and not locked has no owner.
fn take_over(connection: &mut Connection, path: &Path) -> Result<[Tail; 2], Problem> {
    let transaction = begin(connection)?;
    let orphans = tail::orphans(path).map_err(Problem::Tail)?;
    for orphan in &orphans {
        orphan.read(|entry| -> Result<(), Problem> {
            rows::insert(&transaction, [entry])?;
            Ok(())
        })?;
    }
    let create = || Tail::create(path).map_err(Problem::Tail);
    let tails = [create()?, create()?];
    transaction.commit()?;
    for orphan in orphans {
        orphan.remove().map_err(Problem::Tail)?;
    }
    Ok(tails)
}

/// Begins to write. The lock is taken now, so that waiting for another process happens here and nowhere else.
pub(super) fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Bytes of a page, at least one.
fn page_size(connection: &Connection) -> rusqlite::Result<i64> {
    let size = connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?;
    Ok(size.max(1))
}

/// Keeps the file from growing past `bytes`.
pub(super) fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size(connection)?;
    // 2^32 - 2 is the most that SQLite knows.
    let pages = pages.clamp(1, 0xffff_fffe);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}
