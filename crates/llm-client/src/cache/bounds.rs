//! Bounds on what SQLite may do with a file.
//!
//! SQLite finds much damage by itself, but not all of it: a page that is its own grandchild makes a scan go in circles, and a table of
//! such pages has more rows than there is time to read. Whatever reads a whole file is bounded by the rows that fit into it.

use std::{ffi::c_int, time::Duration};

use rusqlite::{Connection, limits::Limit};

use super::file;

/// Bytes of a key. No row is shorter.
pub(super) const KEY: usize = 32;
/// The most bytes of a text or a row, far more than the longest reply. A damaged row may claim any length.
const LONGEST: i32 = 256 << 20;
/// Instructions of SQLite's virtual machine between two checks.
const EVERY: c_int = 1000;
/// Instructions for a row, far more than any statement of this module needs.
const STEPS_FOR_A_ROW: u64 = 100;
/// Instructions for what does not depend on the file's size, such as reading the schema.
const LEAST_STEPS: u64 = 1_000_000;
/// The time to read a whole file, besides the time for its size.
const LEAST_TIME: Duration = Duration::from_secs(30);
/// A disk that reads fewer bytes a second is failing.
const SLOWEST: u64 = 4 << 20;

/// Runs `run`, and interrupts SQLite when it has worked for longer than any undamaged file of this size needs. The error is then
/// one of damage, see [`is_damage`](super::error::is_damage).
pub(super) fn within<T>(
    connection: &mut Connection,
    run: impl FnOnce(&mut Connection) -> T,
) -> Result<T, rusqlite::Error> {
    // Known without reading more than the first page.
    let rows = most_rows(connection).unwrap_or_default();
    let steps = rows
        .saturating_mul(STEPS_FOR_A_ROW)
        .saturating_add(LEAST_STEPS);
    let mut checks = steps / u64::from(EVERY.unsigned_abs());
    let interrupt = move || {
        checks = checks.saturating_sub(1);
        checks == 0
    };
    connection.progress_handler(EVERY, Some(interrupt))?;
    let result = run(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    Ok(result)
}

/// Refuses texts and rows that are longer than any reply.
pub(super) fn limit_lengths(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    Ok(())
}

/// The most rows that fit into the file.
pub(super) fn most_rows(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(bytes(connection)? / KEY as u64)
}

/// The longest time that reading every row of the file may take.
pub(super) fn most_time(connection: &Connection) -> rusqlite::Result<Duration> {
    Ok(LEAST_TIME + Duration::from_secs(bytes(connection)? / SLOWEST))
}

fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = file::pragma(connection, "page_count")?;
    let bytes = pages.saturating_mul(file::pragma(connection, "page_size")?);
    Ok(u64::try_from(bytes).unwrap_or_default())
}
