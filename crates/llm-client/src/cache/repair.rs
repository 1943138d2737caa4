//! Saves the readable part of a damaged file.

use std::{
    ops::{ControlFlow, Range},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, backup::Backup};
use schema::text::counted;

use super::{
    bounds::{self, KEY},
    earlier::Layout,
    error::{is_damage, is_too_long},
    file, pages,
    row::{CREATE, Row},
};

/// The most copies of damaged files that are left beside a cache.
const MOST_COPIES: u32 = 9;

/// Builds a new table of all rows that are intact: those that SQLite can read, then those in pages that it does not find. Other processes may have the file open meanwhile. Lost
/// replies are requested again when they are needed. If SQLite does not find all rows, a copy of the damaged file is left beside it. Returns how
/// many replies are known to be lost.
pub(super) fn repair(connection: &mut Connection, path: &Path) -> rusqlite::Result<u64> {
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
    let mut lost: u64 = 0;
    let walked = walk(&damaged, |_, row| match row {
        // Of two rows under one key the first is kept.
        Some(row) => row.insert(&transaction, i64::MIN),
        None => {
            lost += 1;
            Ok(())
        }
    })?;
    let mut kept = count(&transaction)?;
    let mut copied = None;
    if lost > 0 || walked != Walked::Whole {
        copied = copy_beside(&damaged, path);
        let until = Instant::now() + bounds::most_time(&damaged)?;
        // The copy has what the write-ahead log of the damaged file holds, too.
        save_from_pages(copied.as_deref().unwrap_or(path), &transaction, until)?;
        let found = count(&transaction)?.saturating_sub(kept);
        (kept, lost) = (kept + found, lost.saturating_sub(found));
    }
    file::mark(&transaction)?;
    transaction.commit()?;
    drop(damaged);
    let unread = match walked {
        Walked::GaveUp => "; the rest could not be read in time",
        Walked::Whole | Walked::Damaged => "",
    };
    let copy = match copied {
        Some(copy) => format!(". The damaged file is kept as {}", copy.display()),
        None => String::new(),
    };
    let again = match lost > 0 || walked == Walked::GaveUp {
        true => ". A run that needs a lost reply calls the model again",
        false => "",
    };
    tracing::warn!(
        "the response cache {} was damaged and has been repaired: kept {}, lost {lost}{unread}{again}{copy}",
        path.display(),
        counted(kept, "reply", "replies"),
    );
    // If there is no room for it, or another process holds the file, the file only stays larger than necessary.
    let _ = vacuum(connection);
    Ok(lost)
}

/// Stores the intact rows in the pages of the file at `path` that are not stored yet. Of several copies of a row, the newest is kept.
fn save_from_pages(path: &Path, to: &Connection, until: Instant) -> rusqlite::Result<()> {
    let mut stored = Ok(());
    let read = pages::rows(path, |row| {
        stored = row.insert(to, row.created);
        match stored.is_err() || Instant::now() > until {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if let Err(error) = read {
        tracing::debug!(%error, "not all pages of the damaged response cache are read");
    }
    stored
}

/// The number of replies in the table.
fn count(connection: &Connection) -> rusqlite::Result<u64> {
    let count: i64 = connection.query_row("SELECT count(*) FROM replies", [], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Rewrites the file without the free space in it.
pub(super) fn vacuum(connection: &mut Connection) -> rusqlite::Result<()> {
    bounds::within(connection, |connection| connection.execute_batch("VACUUM"))?
}

/// Copies the file of `damaged`, with what its write-ahead log holds, to a new file beside `path`. `None` if there is no room for it,
/// or enough copies are there: the repair is worth more than the copy.
fn copy_beside(damaged: &Connection, path: &Path) -> Option<PathBuf> {
    let name = |number| {
        let mut name = path.as_os_str().to_owned();
        name.push(".damaged");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let copy = (1..=MOST_COPIES).map(name).find(|name| !name.exists())?;
    let copied = || {
        let mut connection = Connection::open(&copy)?;
        // Copies pages as they are, whatever is in them.
        let backup = Backup::new(damaged, &mut connection)?;
        backup.run_to_completion(1 << 10, Duration::ZERO, None)
    };
    match copied() {
        Ok(()) => Some(copy),
        Err(error) => {
            tracing::debug!(%error, "the damaged response cache is not copied");
            let _ = std::fs::remove_file(copy);
            None
        }
    }
}

/// How far [`walk`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    /// Every page could be read.
    Whole,
    /// Some pages could not be read, or are not where they belong.
    Damaged,
    /// So much could not be read that the time was over.
    GaveUp,
}

/// Passes each row with its number to `each`, `None` for a row that is damaged or cannot be read. Each row is read by itself, because
/// the neighbours of an unreadable row may be intact.
pub(super) fn walk(
    connection: &Connection,
    mut each: impl FnMut(i64, Option<Row<'_>>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Walked> {
    let Some(layout) = Layout::of(connection)? else {
        return Ok(Walked::Whole);
    };
    let find = format!("SELECT {} FROM replies WHERE rowid = ?1", layout.columns());
    let mut select = connection.prepare(&find)?;
    let mut next = connection.prepare("SELECT min(rowid) FROM replies WHERE rowid > ?1")?;
    let last = last_row(connection);
    // No more rows than this can be there, or be lost.
    let most = bounds::most_rows(connection)?;
    let (mut rows_left, mut unreadable_left) = (most, most);
    let until = Instant::now() + bounds::most_time(connection)?;
    let mut unreadable = Unreadable::default();
    let mut walked = Walked::Whole;
    let mut number = 1;
    while number <= last.unwrap_or(i64::MAX - 1) && unreadable_left > 0 && rows_left > 0 {
        if Instant::now() > until {
            return Ok(Walked::GaveUp);
        }
        let passed = select.query_row([number], |row| {
            let read = match layout.has_checksum {
                true => Row::read_intact(row),
                false => Row::read(row),
            };
            let intact = read?.filter(|row| row.key.len() == KEY);
            Ok(unreadable
                .pass(&mut each)
                .and_then(|()| each(number, intact)))
        });
        let following = match passed.optional() {
            Ok(Some(passed)) => {
                passed?;
                rows_left -= 1;
                Ok(Some(number + 1))
            }
            Ok(None) => next.query_row([number], |row| row.get(0)),
            Err(error) => Err(error),
        };
        number = match following {
            Ok(Some(following)) if following > number => following,
            Ok(None) => break,
            Err(error) if !is_damage(&error) && !is_too_long(&error) => return Err(error),
            // A page that leads back to an earlier row is as damaged as one that cannot be read.
            Ok(Some(_)) | Err(_) => {
                walked = Walked::Damaged;
                unreadable_left -= 1;
                unreadable.add(number, &mut each)?;
                number + 1
            }
        };
    }
    // If the end of the table is not known, nobody knows how many of these were rows.
    if last.is_some() {
        unreadable.pass(&mut each)?;
    }
    Ok(walked)
}

/// Numbers of rows that cannot be read, since the last row that can be.
#[derive(Debug, Default)]
struct Unreadable(Range<i64>);

impl Unreadable {
    fn add(
        &mut self,
        number: i64,
        each: &mut impl FnMut(i64, Option<Row<'_>>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        if self.0.end != number {
            self.pass(each)?;
            self.0 = number..number;
        }
        self.0.end = number + 1;
        Ok(())
    }

    /// Passes them on, and removes them here.
    fn pass(
        &mut self,
        each: &mut impl FnMut(i64, Option<Row<'_>>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        std::mem::take(&mut self.0).try_for_each(|number| each(number, None))
    }
}

/// The number of the last row; `None` if the end of the table cannot be read.
fn last_row(connection: &Connection) -> Option<i64> {
    let largest = "SELECT coalesce(max(rowid), 0) FROM replies";
    let largest = connection.query_row(largest, [], |row| row.get(0));
    // The index knows the numbers of all rows. With a limit, because damaged pages may lead in circles.
    let in_index = || {
        let limit = i64::try_from(bounds::most_rows(connection).ok()?).ok()?;
        let largest = "SELECT coalesce(max(rowid), 0) FROM \
            (SELECT rowid FROM replies INDEXED BY sqlite_autoindex_replies_1 LIMIT ?1)";
        let largest = connection.query_row(largest, [limit], |row| row.get(0));
        largest.ok()
    };
    largest.ok().or_else(in_index)
}
