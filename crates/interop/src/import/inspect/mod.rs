//! Logs of Inspect.

mod check;
mod header;
mod json_log;
mod message;
mod roles;
mod sample;
mod zip_log;

use std::{io::Read, path::Path};

pub use check::{LogFault, check_inspect_log};
use header::Header;
pub(super) use message::{ChatMessage, Messages};
use roles::Speaker;
pub(super) use sample::split_system;
use sample::{PlainSample, SampleWithCalls};
use zip_log::ZipLog;

use super::{ImportError, SourceFile, Take, file_name};

/// The facts about the log at `path` as a whole.
pub(super) fn source(path: &Path) -> Result<SourceFile, ImportError> {
    let header = open_header(path)?;
    header.source(&path.display().to_string(), &file_name(path))
}

fn open_header(path: &Path) -> Result<Header, ImportError> {
    match is_zip(path)? {
        true => ZipLog::open(path)?.header(),
        false => json_log::header(path),
    }
}

/// Passes the samples of the log to `take`. Returns the number of replaced halves of surrogate
/// pairs.
pub(super) fn read(path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    if is_zip(path)? {
        let mut log = ZipLog::open(path)?;
        match log.header()?.speaker() {
            Speaker::Model => log.samples::<PlainSample>(Speaker::Model, take),
            speaker => log.samples::<SampleWithCalls>(speaker, take),
        }
    } else {
        match json_log::header(path)?.speaker() {
            Speaker::Model => json_log::samples::<PlainSample>(path, Speaker::Model, take),
            speaker => json_log::samples::<SampleWithCalls>(path, speaker, take),
        }
    }
}

/// Whether the file is read as a zip: by its name, or by its first bytes.
fn is_zip(path: &Path) -> Result<bool, ImportError> {
    if path
        .extension()
        .is_some_and(|extension| extension == "eval")
    {
        return Ok(true);
    }
    let mut begin = [0; 4];
    let read = files::open(path).and_then(|mut file| file.read(&mut begin));
    read.map_err(|error| ImportError::read(path, error))?;
    Ok(begin.starts_with(b"PK"))
}
