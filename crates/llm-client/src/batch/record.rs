//! The files of batches that were sent.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use schema::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of the files.
const FORMAT: &str = "1.0.0";
/// Results are kept for 29 days by Anthropic, and for 30 by OpenAI.
const KEPT: Duration = Duration::from_secs(28 * 24 * 3600);

/// A batch that was sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BatchRecord {
    format: String,
    /// The provider's id.
    pub(super) batch: String,
    /// The model and its settings, as a hash: [`KeyMaker::identity`](crate::KeyMaker::identity).
    pub(super) model_sha256: String,
    /// When it was sent, in seconds since 1970.
    sent: u64,
    /// The keys of its requests in the cache.
    pub(super) requests: Vec<String>,
}

impl BatchRecord {
    pub(super) fn new(batch: &str, model_sha256: &str, requests: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            batch: batch.to_owned(),
            model_sha256: model_sha256.to_owned(),
            sent: now(),
            requests,
        }
    }

    /// How long ago it was sent.
    pub(super) fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.sent))
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// The folder of the files.
#[derive(Clone, Debug)]
pub(super) struct Records(pub(super) PathBuf);

impl Records {
    /// Writes the file of a batch, to the disk, before anything waits for the batch.
    pub(super) fn write(&self, record: &BatchRecord) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let mut file = files::create_unfinished(&self.0)?;
        serde_json::to_writer_pretty(&mut file, record)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(self.path(record))
            .map_err(|error| error.error)?;
        Ok(())
    }

    /// The file of a batch. Its id is a text from outside, so it is no file name.
    fn path(&self, record: &BatchRecord) -> PathBuf {
        let name = hex(&Sha256::digest(&record.batch));
        self.0
            .join(format!("{}.json", name.get(..32).unwrap_or(&name)))
    }

    /// Removes the file of a batch that is not there any more.
    pub(super) fn remove(&self, record: &BatchRecord) {
        // A file that stays is found again, and so is that the batch is not there.
        let _ = fs::remove_file(self.path(record));
    }

    /// The batches of a model that are not too old. Files of older ones are removed, and those that cannot be read are left alone.
    pub(super) fn read(&self, model_sha256: &str) -> Vec<BatchRecord> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut records = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            let is_record = path
                .extension()
                .is_some_and(|extension| extension == "json");
            let text = is_record.then(|| files::read_text(&path).ok()).flatten();
            let record = text.and_then(|text| serde_json::from_str::<BatchRecord>(&text).ok());
            match record {
                Some(record) if record.age() > KEPT => drop(fs::remove_file(path)),
                Some(record) if record.model_sha256 == model_sha256 => records.push(record),
                _ => {}
            }
        }
        // Where two have a request, the later one counts.
        records.sort_by_key(|record| record.sent);
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_model_are_found_and_old_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records(folder.path().join("batches"));
        assert!(records.read("a").is_empty());
        let one = BatchRecord::new("../batch/1", "a", vec!["k1".to_owned()]);
        let old = BatchRecord {
            sent: now() - 29 * 24 * 3600,
            ..BatchRecord::new("old", "a", Vec::new())
        };
        for record in [&one, &old, &BatchRecord::new("b", "b", Vec::new())] {
            records.write(record).unwrap();
        }
        fs::write(records.0.join("broken.json"), "{").unwrap();
        let found = records.read("a");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&found[0].batch, &found[0].requests),
            (&one.batch, &one.requests)
        );
        assert_eq!(fs::read_dir(&records.0).unwrap().count(), 3);
    }
}
