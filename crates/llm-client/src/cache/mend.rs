//! Giving an older file its checksums, and saving what can be read of a damaged one.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::is_damage,
    file::{self, CREATE},
    stored::Row,
};

/// So many rows get their checksums before the next ones are read.
const BATCH: u32 = 256;
/// No row takes fewer bytes than this: its key alone has 32.
const SMALLEST_ROW: i64 = 40;

/// The columns of the table, as far as they matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// Those of this version.
    Checked,
    /// Without a checksum, as earlier versions made them.
    Unchecked,
    /// No table, or another one.
    Other,
}

/// Which columns the table has.
pub(super) fn columns(connection: &Connection) -> rusqlite::Result<Columns> {
    let mut select = connection.prepare("SELECT name FROM pragma_table_info('replies')")?;
    let names = select.query_map([], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    let usual = ["key", "created", "run_time_us", "failed", "response"];
    let has = |name: &str| names.iter().any(|known| known == name);
    Ok(match (usual.into_iter().all(has), has("checksum")) {
        (false, _) => Columns::Other,
        (true, false) => Columns::Unchecked,
        (true, true) => Columns::Checked,
    })
}

/// Gives every row of an older table its checksum, by what is in it now.
pub(super) fn add_checksums(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute_batch("ALTER TABLE replies ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")?;
    let mut select = connection.prepare(
        "SELECT rowid, key, created, run_time_us, failed, response FROM replies WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
    )?;
    let mut update = connection.prepare("UPDATE replies SET checksum = ?2 WHERE rowid = ?1")?;
    let mut last = 0;
    loop {
        let mut sums: Vec<(i64, Option<i64>)> = Vec::new();
        let mut rows = select.query(params![last, BATCH])?;
        while let Some(row) = rows.next()? {
            let checksum = read(row)?.map(|row| row.checksum());
            sums.push((row.get(0)?, checksum));
        }
        drop(rows);
        let Some((newest, _)) = sums.last() else {
            return Ok(());
        };
        last = *newest;
        for (row, checksum) in sums {
            // A row that makes no sense keeps a checksum that does not fit.
            if let Some(checksum) = checksum {
                update.execute([row, checksum])?;
            }
        }
    }
}

/// Makes a table out of all rows that can still be read and are whole. The rows keep their numbers, and other processes may have the file
/// open meanwhile. What is lost is asked for again when it is needed.
pub(super) fn mend(connection: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    // What it reads is what was there when the writing began. An error that it meets does not end the writing.
    let transaction = file::begin(connection)?;
    let damaged = file::connect_reader(path)?;
    let columns = columns(&damaged)?;
    let last = last_row(&damaged)?;
    // The damaged table may not even be possible to drop: it is forgotten, and its pages are given back below.
    transaction.pragma_update(None, "writable_schema", true)?;
    let forgotten = transaction.execute_batch(
        "DELETE FROM sqlite_schema WHERE tbl_name = 'replies'; PRAGMA writable_schema = RESET",
    );
    transaction.pragma_update(None, "writable_schema", false)?;
    forgotten?;
    transaction.execute_batch(CREATE)?;
    let kept = copy(&damaged, columns, last, &transaction)?;
    file::mark(&transaction)?;
    transaction.commit()?;
    drop(damaged);
    tracing::warn!(
        "the response cache {} was damaged and has been repaired: {kept} replies are kept, {} of those it held can no longer be \
         read. They will be paid for again when a run needs them",
        path.display(),
        last.saturating_sub(kept),
    );
    // Where there is no room for it, or others hold the file, it only stays larger than it need be.
    let _ = connection.execute_batch("VACUUM");
    Ok(())
}

/// The number of the last row, or one that is larger: the end of the table may be what is damaged.
fn last_row(damaged: &Connection) -> rusqlite::Result<i64> {
    let number = |sql: &str| damaged.query_row(sql, [], |row| row.get::<_, i64>(0));
    let pragma = |name| damaged.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let most = pragma("page_count")?.saturating_mul(pragma("page_size")?) / SMALLEST_ROW;
    let last = number("SELECT coalesce(max(rowid), 0) FROM replies");
    let last = last.or_else(|_| {
        number("SELECT coalesce(max(rowid), 0) FROM replies INDEXED BY sqlite_autoindex_replies_1")
    });
    Ok(last.map_or(most, |last| last.min(most)))
}

/// Copies the rows up to `last` that can be read and are whole. Gives how many these are.
fn copy(
    damaged: &Connection,
    columns: Columns,
    last: i64,
    into: &Connection,
) -> rusqlite::Result<i64> {
    let checksum = match columns {
        Columns::Checked => "checksum",
        Columns::Unchecked => "NULL",
        Columns::Other => return Ok(0),
    };
    let mut select = damaged.prepare(&format!(
        "SELECT rowid, key, created, run_time_us, failed, response, {checksum} FROM replies WHERE rowid = ?1"
    ))?;
    let mut insert = into.prepare(
        "INSERT OR IGNORE INTO replies (rowid, key, created, run_time_us, failed, response, checksum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut kept = 0;
    for number in 1..=last {
        // Each by itself: those beside one that cannot be read may be whole.
        let copied = select.query_row([number], |row| {
            let stored = row.get_ref(6)?.as_i64_or_null().unwrap_or_default();
            let Some(read) = read(row)? else {
                return Ok(None);
            };
            let checksum = read.checksum();
            if columns == Columns::Checked && stored != Some(checksum) {
                return Ok(None);
            }
            let values = params![
                number,
                read.key,
                read.created,
                read.run_time_us,
                read.failed,
                read.response,
                checksum
            ];
            Ok(Some(insert.execute(values)))
        });
        match copied.optional() {
            Ok(Some(Some(inserted))) => kept += i64::try_from(inserted?).unwrap_or(0),
            Ok(_) => {}
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// A row whose number comes first, then its columns. `None` when it makes no sense.
fn read<'a>(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Option<Row<'a>>> {
    match row.get_ref(1)?.as_blob() {
        Ok(key) if key.len() == 32 => Row::read(key, row, 2),
        _ => Ok(None),
    }
}
