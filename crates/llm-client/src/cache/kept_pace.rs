//! The paces of endpoints, which a run keeps for the next one.

use std::{fmt, time::SystemTime};

use rusqlite::{Connection, OptionalExtension as _, params};
use schema::text::hex;
use sha2::{Digest, Sha256};

use super::row::{micros, time};

/// Creates the table. It is no part of the file's format: versions that do not know it leave it alone.
const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS paces (
        endpoint BLOB NOT NULL PRIMARY KEY,
        rate REAL NOT NULL,
        learned INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT";

/// An endpoint as stores know it: the SHA-256 of its address and key. Neither can be read in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointHash([u8; 32]);

impl EndpointHash {
    /// The hash of an endpoint at `address` that is called with `key`.
    pub(crate) fn new(address: &str, key: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"pace");
        // Texts are preceded by their length, so that no two endpoints run together into the same bytes.
        for text in [Some(address), key].into_iter().flatten() {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }

    /// The hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for EndpointHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// What a run learned of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptPace {
    /// Attempts a second that the endpoint takes.
    pub rate: f64,
    /// When that was learned, in whole microseconds.
    pub learned: SystemTime,
}

/// The pace of `endpoint`; `None` if there is none, or a damaged one.
pub(super) fn find(
    connection: &Connection,
    endpoint: &EndpointHash,
) -> rusqlite::Result<Option<KeptPace>> {
    let exists = "SELECT 1 FROM sqlite_schema WHERE name = 'paces'";
    let exists = connection.query_row(exists, [], |_| Ok(())).optional()?;
    if exists.is_none() {
        return Ok(None);
    }
    let select = "SELECT rate, learned, checksum FROM paces WHERE endpoint = ?1";
    let found: Option<(f64, i64, i64)> = connection
        .query_row(select, [endpoint.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let intact = found.filter(|(rate, learned, sum)| checksum(endpoint, *rate, *learned) == *sum);
    Ok(intact.map(|(rate, learned, _)| KeptPace {
        rate,
        learned: time(learned),
    }))
}

/// Stores the pace of `endpoint`, and removes those that were learned before `oldest`.
pub(super) fn keep(
    connection: &Connection,
    endpoint: &EndpointHash,
    pace: KeptPace,
    oldest: SystemTime,
) -> rusqlite::Result<()> {
    connection.execute(CREATE, [])?;
    connection.execute("DELETE FROM paces WHERE learned < ?1", [micros(oldest)])?;
    let learned = micros(pace.learned);
    connection.execute(
        "INSERT OR REPLACE INTO paces (endpoint, rate, learned, checksum) VALUES (?1, ?2, ?3, ?4)",
        params![
            endpoint.as_bytes(),
            pace.rate,
            learned,
            checksum(endpoint, pace.rate, learned)
        ],
    )?;
    Ok(())
}

/// The CRC-32 of the columns before it.
fn checksum(endpoint: &EndpointHash, rate: f64, learned: i64) -> i64 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(endpoint.as_bytes());
    sum.update(&rate.to_le_bytes());
    sum.update(&learned.to_le_bytes());
    i64::from(sum.finalize())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pace_is_found_until_it_is_old_or_damaged() {
        let connection = Connection::open_in_memory().unwrap();
        let endpoints = [
            EndpointHash::new("http://h/v1", None),
            EndpointHash::new("http://h/v1", Some("key")),
            EndpointHash::new("http://h/v1key", None),
        ];
        let now = time(micros(SystemTime::now()));
        let hour_ago = now - Duration::from_secs(3600);
        let pace = KeptPace {
            rate: 19.8,
            learned: now,
        };
        assert_eq!(find(&connection, &endpoints[0]).unwrap(), None);
        keep(&connection, &endpoints[0], pace, hour_ago).unwrap();
        assert_eq!(find(&connection, &endpoints[0]).unwrap(), Some(pace));
        assert_eq!(find(&connection, &endpoints[1]).unwrap(), None);
        assert_eq!(find(&connection, &endpoints[2]).unwrap(), None);

        let faster = KeptPace { rate: 40.0, ..pace };
        keep(&connection, &endpoints[0], faster, hour_ago).unwrap();
        assert_eq!(find(&connection, &endpoints[0]).unwrap(), Some(faster));
        connection.execute("UPDATE paces SET rate = 1", []).unwrap();
        assert_eq!(find(&connection, &endpoints[0]).unwrap(), None);

        // What is too old goes when the next is stored.
        let later = now + Duration::from_secs(1);
        keep(
            &connection,
            &endpoints[1],
            KeptPace {
                learned: later,
                ..pace
            },
            later,
        )
        .unwrap();
        let count = "SELECT count(*) FROM paces";
        let count: i64 = connection.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
    }
}
