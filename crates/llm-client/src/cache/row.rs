//! A row of the table: its columns, its checksum, and the reply in it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};
use schema::{JsonText, Spend};

use super::StoredReply;

/// Creates the table.
pub(super) const CREATE: &str = "
    CREATE TABLE replies (
        key BLOB NOT NULL UNIQUE,
        created INTEGER NOT NULL,
        run_time_us INTEGER NOT NULL,
        failed TEXT,
        response TEXT NOT NULL,
        checksum INTEGER NOT NULL DEFAULT 0,
        body TEXT,
        model TEXT,
        endpoint TEXT
    ) STRICT;
";

/// The columns in the order of [`Row::read`].
pub(super) const COLUMNS: &str =
    "key, created, run_time_us, failed, response, body, model, endpoint, checksum";

/// Stores a row. An existing row is replaced if it was stored before `?10`, in microseconds since 1970.
const INSERT: &str = "
    INSERT INTO replies (key, created, run_time_us, failed, response, body, model, endpoint, checksum)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (key) DO UPDATE SET created = excluded.created, run_time_us = excluded.run_time_us,
        failed = excluded.failed, response = excluded.response, body = excluded.body, model = excluded.model,
        endpoint = excluded.endpoint, checksum = excluded.checksum
    WHERE replies.created < ?10";

/// A row, without its checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) key: &'a [u8],
    pub(super) created: i64,
    pub(super) run_time_us: i64,
    /// JSON of the cost of failed attempts, if there were any.
    pub(super) failed: Option<&'a str>,
    /// The wire text; empty if the model has none.
    pub(super) response: &'a str,
    /// JSON of the reply in Probity's own form. This field and the next two are `None` in rows of earlier versions.
    pub(super) body: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) endpoint: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// Reads the row from the first eight of [`COLUMNS`]. `None`: a column holds a value of another type.
    pub(super) fn read(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (key, response) = (row.get_ref(0)?.as_blob(), row.get_ref(4)?.as_str());
        let (created, run_time_us) = (row.get_ref(1)?.as_i64(), row.get_ref(2)?.as_i64());
        let text = |at| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_str_or_null());
        let (failed, body, model, endpoint) = (text(3)?, text(5)?, text(6)?, text(7)?);
        let read = || {
            Some(Self {
                key: key.ok()?,
                created: created.ok()?,
                run_time_us: run_time_us.ok()?,
                failed: failed.ok()?,
                response: response.ok()?,
                body: body.ok()?,
                model: model.ok()?,
                endpoint: endpoint.ok()?,
            })
        };
        Ok(read())
    }

    /// Reads the row from all of [`COLUMNS`], and compares its checksum; `None` if the row is damaged.
    pub(super) fn read_intact(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Option<Self>> {
        let checksum = row.get_ref(8)?.as_i64().ok();
        Ok(Self::read(row)?.filter(|row| checksum == Some(row.checksum())))
    }

    /// The CRC-32 of all columns. The key is part of it, so that a row which a damaged index finds under another key is noticed.
    pub(super) fn checksum(&self) -> i64 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(self.key);
        sum.update(&self.created.to_le_bytes());
        sum.update(&self.run_time_us.to_le_bytes());
        // With its length, so that no two rows run together into the same bytes. NULL differs from an empty text.
        let failed = self.failed.map_or(u64::MAX, |failed| failed.len() as u64);
        sum.update(&failed.to_le_bytes());
        sum.update(self.failed.unwrap_or_default().as_bytes());
        sum.update(self.response.as_bytes());
        // Rows of earlier versions have none of these, and keep their checksums.
        for text in [self.body, self.model, self.endpoint].into_iter().flatten() {
            sum.update(&(text.len() as u64).to_le_bytes());
            sum.update(text.as_bytes());
        }
        i64::from(sum.finalize())
    }

    /// Stores the row with its checksum, in place of a row that was stored before `oldest`.
    pub(super) fn insert(&self, connection: &Connection, oldest: i64) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(INSERT)?;
        insert.execute(params![
            self.key,
            self.created,
            self.run_time_us,
            self.failed,
            self.response,
            self.body,
            self.model,
            self.endpoint,
            self.checksum(),
            oldest,
        ])?;
        Ok(())
    }

    /// The reply in the row; `None` if a column does not hold what it should.
    pub(super) fn into_reply(self) -> Option<StoredReply> {
        let failed_attempts = match self.failed {
            None => Spend::default(),
            Some(text) => serde_json::from_str(text).ok()?,
        };
        let body = self.body.map(serde_json::from_str).transpose().ok()?;
        let wire = JsonText::new(self.response).ok();
        Some(StoredReply {
            created: time(self.created),
            run_time: Duration::from_micros(u64::try_from(self.run_time_us).ok()?),
            failed_attempts,
            body,
            wire,
            model: self.model.map(str::to_owned),
            endpoint: self.endpoint.map(str::to_owned),
        })
    }

    /// Bytes of its columns.
    pub(super) fn bytes(&self) -> u64 {
        let texts: usize = [self.failed, self.body, self.model, self.endpoint]
            .into_iter()
            .flatten()
            .map(str::len)
            .sum();
        (self.key.len() + self.response.len() + texts + 3 * size_of::<i64>()) as u64
    }
}

/// Microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The reverse of [`micros`].
pub(super) fn time(micros: i64) -> SystemTime {
    let since = Duration::from_micros(u64::try_from(micros).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
