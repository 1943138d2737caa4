//! Logs in a zip of small files. Names in the zip identify the kind of a file; they are never used as paths.

use std::{
    fs::File,
    io::{BufReader, Read},
    ops::ControlFlow,
    path::Path,
};

use zip::{ZipArchive, result::ZipError};

use super::{header::Header, json_log::one_sample, roles::Speaker, sample::ReadSample};
use crate::import::{ImportError, Take, clean::Clean, file_name};

/// The largest unpacked size of one file in the zip, in bytes.
const LARGEST: u64 = 512 << 20;
/// The largest unpacked size of all files, as a multiple of the zip's size. Applies above [`SMALL`].
const DENSEST: u64 = 1000;
/// Up to this unpacked size, in bytes, [`DENSEST`] does not apply.
const SMALL: u64 = 256 << 20;

/// An open log.
pub(super) struct ZipLog {
    place: String,
    zip: ZipArchive<BufReader<File>>,
    /// The indexes of the samples in the zip.
    samples: Vec<usize>,
}

impl ZipLog {
    /// Opens the log at `path` and reads its list of files.
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let place = path.display().to_string();
        let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
        let length = file
            .metadata()
            .map_err(|error| ImportError::read(path, error))?
            .len();
        let mut zip =
            ZipArchive::new(BufReader::new(file)).map_err(|error| not_a_zip(&place, error))?;
        let mut samples = Vec::new();
        let (mut total, mut chunked) = (0_u64, false);
        for at in 0..zip.len() {
            let entry = zip
                .by_index_raw(at)
                .map_err(|error| broken(&place, &error))?;
            let name = String::from_utf8_lossy(entry.name_raw());
            if !name.starts_with("samples/") || !name.ends_with(".json") {
                continue;
            }
            if name.ends_with("/sample.json") {
                chunked = true;
            }
            if entry.size() > LARGEST {
                return Err(too_large(&format!("{place}: {}", name.escape_debug())));
            }
            total = total.saturating_add(entry.size());
            samples.push(at);
        }
        if chunked {
            return Err(ImportError::unusable(
                place,
                "its samples are stored in chunks; only logs with one file for each sample are supported",
            ));
        }
        if total > SMALL && total / DENSEST > length {
            return Err(ImportError::unusable(
                place,
                format!(
                    "it would unpack to {total} bytes, more than {DENSEST} times its size; not a log"
                ),
            ));
        }
        Ok(Self {
            place,
            zip,
            samples,
        })
    }

    /// The header; for an unfinished log, the start of its journal.
    pub(super) fn header(&mut self) -> Result<Header, ImportError> {
        for name in ["header.json", "_journal/start.json"] {
            let place = format!("{}: {}", self.place, name.escape_debug());
            let entry = match self.zip.by_name(name) {
                Ok(entry) => entry,
                Err(ZipError::FileNotFound) => continue,
                Err(error) => return Err(broken(&place, &error)),
            };
            if entry.size() > LARGEST {
                return Err(too_large(&place));
            }
            let clean = BufReader::new(Clean::new(entry.take(LARGEST)));
            return serde_json::from_reader(clean)
                .map_err(|error| ImportError::json(&place, &error));
        }
        Err(ImportError::unusable(
            &self.place,
            "a zip without header.json: not an Inspect log, or a part of it is missing",
        ))
    }

    /// Passes the samples, read as `S`, to `take`, one at a time. Returns the number of replaced halves of surrogate
    /// pairs.
    pub(super) fn samples<S: ReadSample>(
        mut self,
        speaker: Speaker,
        take: &mut Take<'_>,
    ) -> Result<u64, ImportError> {
        let file = file_name(Path::new(&self.place));
        let mut replaced = 0;
        for at in std::mem::take(&mut self.samples) {
            let entry = self
                .zip
                .by_index(at)
                .map_err(|error| broken(&self.place, &error))?;
            let name = String::from_utf8_lossy(entry.name_raw());
            let place = format!("{}: {}", self.place, name.escape_debug());
            // The list of files may state a wrong size.
            let (sample, of_sample) = one_sample::<S>(Bounded::new(entry, LARGEST))
                .map_err(|error| ImportError::json(&place, &error))?;
            replaced += of_sample;
            let found = sample
                .found(&file, speaker)
                .map_err(|what| ImportError::unusable(&place, what))?;
            if let ControlFlow::Break(()) = take(found) {
                break;
            }
        }
        Ok(replaced)
    }
}

/// A reader that fails after a maximum number of bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R, most: u64) -> Self {
        Self { inner, left: most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let more = || std::io::Error::other("it unpacks to more than a sample may hold");
        self.left = self.left.checked_sub(read as u64).ok_or_else(more)?;
        Ok(read)
    }
}

fn too_large(place: &str) -> ImportError {
    let most = LARGEST >> 20;
    ImportError::unusable(place, format!("it unpacks to more than {most} MiB"))
}

fn not_a_zip(place: &str, error: ZipError) -> ImportError {
    match error {
        ZipError::InvalidArchive(why) => ImportError::unusable(
            place,
            format!("not a zip file, or cut off ({why}); Inspect logs named .eval are zip files"),
        ),
        other => broken(place, &other),
    }
}

fn broken(place: &str, error: &ZipError) -> ImportError {
    ImportError::unusable(place, format!("the zip cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::inspect::sample::PlainSample;

    #[test]
    fn what_unpacks_without_end_is_stopped() {
        let mut bounded = Bounded::new(std::io::repeat(b' '), 1 << 20);
        let error = one_sample::<PlainSample>(&mut bounded).unwrap_err();
        assert!(
            error.to_string().contains("more than a sample may hold"),
            "{error}"
        );
    }
}
