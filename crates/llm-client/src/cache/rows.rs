//! The rows of the file: finding and storing replies.

use std::sync::LazyLock;

use rusqlite::{Connection, Statement, params, types::ValueRef};

use super::{
    CacheKey,
    error::is_damage,
    line::Entry,
    part::{Part, PartSet},
    stored::{Found, Row},
};

/// Finds a row that is not older than `?2`.
pub(super) const FIND: &str = "
    SELECT created, run_time_us, failed, response, checksum FROM replies WHERE key = ?1 AND created >= ?2";

/// Columns of a row.
const COLUMNS: usize = 6;

/// So many rows are inserted by one statement where none of them is there.
const MANY: usize = 16;

/// For most groups: nothing of it is there. Leaves out what is.
static INSERT_MANY: LazyLock<String> = LazyLock::new(|| {
    let rows = vec!["(?, ?, ?, ?, ?, ?)"; MANY].join(", ");
    format!(
        "INSERT OR IGNORE INTO replies (key, created, run_time_us, failed, response, checksum) VALUES {rows}"
    )
});

/// Replaces only what is older than `?7`.
const INSERT: &str = "
    INSERT INTO replies (key, created, run_time_us, failed, response, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (key) DO UPDATE SET created = excluded.created, run_time_us = excluded.run_time_us,
        failed = excluded.failed, response = excluded.response, checksum = excluded.checksum
    WHERE replies.created < ?7";

/// The row of `key` that is not older than `oldest`. A row whose checksum does not fit `key` and the other columns is damaged, and so
/// is what SQLite itself cannot read.
pub(super) fn find(
    connection: &Connection,
    key: &CacheKey,
    oldest: i64,
) -> rusqlite::Result<Found> {
    let found = || -> rusqlite::Result<Found> {
        let mut select = connection.prepare_cached(FIND)?;
        let mut rows = select.query(params![key.as_bytes(), oldest])?;
        let Some(row) = rows.next()? else {
            return Ok(Found::Nothing);
        };
        let checksum = row.get_ref(4)?.as_i64().ok();
        let row = Row::read(key.as_bytes(), row, 0)?;
        let intact = row.filter(|row| checksum == Some(row.checksum()));
        Ok(intact
            .and_then(Row::into_reply)
            .map_or(Found::Damaged, Found::Reply))
    };
    match found() {
        Err(error) if is_damage(&error) => Ok(Found::Damaged),
        result => result,
    }
}

/// Stores replies, each unless there is one that is not older than it allows. Gives the last row that was written.
pub(super) fn insert<'a>(
    connection: &Connection,
    entries: impl IntoIterator<Item = Entry<'a>>,
) -> rusqlite::Result<i64> {
    let mut one = connection.prepare_cached(INSERT)?;
    let mut many = connection.prepare_cached(&INSERT_MANY)?;
    let mut entries = entries.into_iter();
    loop {
        let together: Vec<_> = entries.by_ref().take(MANY).collect();
        if together.is_empty() {
            return Ok(connection.last_insert_rowid());
        }
        if together.len() == MANY && insert_new(&mut many, &together)? {
            continue;
        }
        for entry in &together {
            bind(&mut one, 0, entry)?;
            one.raw_bind_parameter(COLUMNS + 1, entry.oldest)?;
            one.raw_execute()?;
        }
    }
}

/// Stores those replies whose keys are not there yet. Gives whether these were all.
fn insert_new(many: &mut Statement<'_>, entries: &[Entry<'_>]) -> rusqlite::Result<bool> {
    for (nth, entry) in entries.iter().enumerate() {
        bind(many, nth * COLUMNS, entry)?;
    }
    Ok(many.raw_execute()? == entries.len())
}

/// Binds what is stored to the parameters behind the first `before`.
fn bind(insert: &mut Statement<'_>, before: usize, entry: &Entry<'_>) -> rusqlite::Result<()> {
    let failed = entry.failed.map(serde_json::to_string);
    let failed = failed.and_then(Result::ok);
    let row = Row {
        key: entry.key.as_bytes(),
        created: entry.created,
        run_time_us: entry.run_time_us,
        failed: failed.as_deref(),
        response: std::str::from_utf8(entry.response).unwrap_or_default(),
    };
    insert.raw_bind_parameter(before + 1, row.key)?;
    insert.raw_bind_parameter(before + 2, row.created)?;
    insert.raw_bind_parameter(before + 3, row.run_time_us)?;
    insert.raw_bind_parameter(before + 4, row.failed)?;
    insert.raw_bind_parameter(before + 5, row.response)?;
    insert.raw_bind_parameter(before + COLUMNS, row.checksum())
}

/// The number of the last row. Rows are numbered in the order they came and never removed.
pub(super) fn last_row(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(rowid), 0) FROM replies", [], |row| {
        row.get(0)
    })
}

/// The keys of all rows.
pub(super) fn keys(connection: &Connection) -> rusqlite::Result<PartSet> {
    // The index is all that is read.
    let mut select = connection.prepare("SELECT key FROM replies")?;
    let keys = select.query_map([], |row| Ok(part(row.get_ref(0)?)))?;
    keys.collect()
}

/// The keys of the rows behind `last`, and the last row.
pub(super) fn keys_after(
    connection: &Connection,
    mut last: i64,
) -> rusqlite::Result<(Vec<Part>, i64)> {
    let mut select =
        connection.prepare_cached("SELECT rowid, key FROM replies WHERE rowid > ?1")?;
    let mut rows = select.query([last])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        last = last.max(row.get(0)?);
        keys.push(part(row.get_ref(1)?));
    }
    Ok((keys, last))
}

fn part(key: ValueRef<'_>) -> Part {
    let first = key.as_blob().ok().and_then(<[u8]>::first_chunk);
    first.map_or(0, |bytes| Part::from_le_bytes(*bytes))
}

/// How many replies there are.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<u64> {
    let count: i64 = connection.query_row("SELECT count(*) FROM replies", [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}
