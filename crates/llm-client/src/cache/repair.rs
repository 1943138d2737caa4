//! Saves the readable part of a damaged file.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};
use schema::text::counted;

use super::{
    earlier::Layout,
    error::is_damage,
    file,
    row::{CREATE, Row},
};

/// Bytes of a key.
const KEY: usize = 32;

/// Builds a new table of all rows that can be read and are intact. Other processes may have the file open meanwhile. Lost
/// replies are requested again when they are needed.
pub(super) fn repair(connection: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    let transaction = file::begin(connection)?;
    // This connection reads the state before the transaction, and its errors do not end the transaction.
    let damaged = file::open_reader(path)?;
    // Dropping the damaged table may fail, so it is removed from the schema, and `VACUUM` frees its pages below.
    transaction.pragma_update(None, "writable_schema", true)?;
    let forgotten = transaction.execute_batch(
        "DELETE FROM sqlite_schema WHERE tbl_name = 'replies'; PRAGMA writable_schema = RESET",
    );
    transaction.pragma_update(None, "writable_schema", false)?;
    forgotten?;
    transaction.execute_batch(CREATE)?;
    let (mut kept, mut lost) = (0, 0);
    walk(&damaged, |_, row| match row {
        // Of two rows under one key the first is kept.
        Some(row) => {
            kept += 1;
            row.insert(&transaction, i64::MIN)
        }
        None => {
            lost += 1;
            Ok(())
        }
    })?;
    file::mark(&transaction)?;
    transaction.commit()?;
    drop(damaged);
    tracing::warn!(
        "the response cache {} was damaged and has been repaired: kept {}, lost {lost}. A run that needs a lost reply calls the model again",
        path.display(),
        counted(kept, "reply", "replies"),
    );
    // If there is no room for it, or another process holds the file, the file only stays larger than necessary.
    let _ = connection.execute_batch("VACUUM");
    Ok(())
}

/// Passes each row with its number to `each`, `None` for a row that is damaged or cannot be read. Each row is read by itself, because
/// the neighbours of an unreadable row may be intact.
pub(super) fn walk(
    connection: &Connection,
    mut each: impl FnMut(i64, Option<Row<'_>>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let Some(layout) = Layout::of(connection)? else {
        return Ok(());
    };
    let find = format!("SELECT {} FROM replies WHERE rowid = ?1", layout.columns());
    let mut select = connection.prepare(&find)?;
    let mut next = connection.prepare("SELECT min(rowid) FROM replies WHERE rowid > ?1")?;
    let last = last_row(connection);
    // No more rows than this can be lost.
    let mut unreadable_left = most_rows(connection)?;
    let mut number = 1;
    while number <= last && unreadable_left > 0 {
        let passed = select.query_row([number], |row| {
            let row = match layout.has_checksum {
                true => Row::read_intact(row),
                false => Row::read(row),
            };
            Ok(each(number, row?.filter(|row| row.key.len() == KEY)))
        });
        let following = match passed.optional() {
            Ok(Some(passed)) => passed.map(|()| Some(number + 1)),
            Ok(None) => next.query_row([number], |row| row.get(0)),
            Err(error) => Err(error),
        };
        number = match following {
            Ok(Some(following)) => following,
            Ok(None) => return Ok(()),
            Err(error) if is_damage(&error) => {
                unreadable_left -= 1;
                each(number, None)?;
                number + 1
            }
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// The number of the last row; if the end of the table cannot be read, the largest number.
fn last_row(connection: &Connection) -> i64 {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let last = number("SELECT coalesce(max(rowid), 0) FROM replies");
    let last = last.or_else(|_| {
        number("SELECT coalesce(max(rowid), 0) FROM replies INDEXED BY sqlite_autoindex_replies_1")
    });
    last.unwrap_or(i64::MAX - 1)
}

/// The most rows that fit into the file.
fn most_rows(connection: &Connection) -> rusqlite::Result<i64> {
    let pages = file::pragma(connection, "page_count")?;
    let bytes = pages.saturating_mul(file::pragma(connection, "page_size")?);
    Ok(bytes / KEY as i64)
}
