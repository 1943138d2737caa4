//! What identifies the content of a journal.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use schema::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How much of the end of the journal is compared, in bytes.
const TAIL: u64 = 64 * 1024;

/// What identifies the content of a journal: files beside it that were made from it are used only as long as it has the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStamp {
    bytes: u64,
    /// Microseconds since 1970.
    modified: Option<u64>,
    /// SHA-256 of its end.
    tail: String,
}

impl JournalStamp {
    /// The length of the journal.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The stamp of the journal at `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = files::open(path)?;
        let known = file.metadata()?;
        let since = known
            .modified()
            .ok()
            .and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok());
        file.seek(SeekFrom::Start(known.len().saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        Ok(Self {
            bytes: known.len(),
            modified: since.and_then(|since| u64::try_from(since.as_micros()).ok()),
            tail: hex(&Sha256::digest(&tail)),
        })
    }
}
