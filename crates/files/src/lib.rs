//! Reads files that come from outside: those that people write, programs leave and flags name.
//!
//! A path may lead to a pipe that nobody writes to, or to a device without end. [`open`] refuses everything but regular files and what
//! the process was started with (`/dev/stdin`, `<(command)` of a shell); [`read`] and [`read_text`] also stop at [`LARGEST`] bytes.
//! Clippy's `disallowed-methods` keeps the other crates from reading files in another way.
//!
//! Each opened file is a `tracing` event of the level debug, so that `--log files=debug` lists what a command reads.
//!
//! [`create_unfinished`] creates a file that gets its name when it is complete, and removes what killed programs left of such files.
//!
//! [`is_out_of_files`] recognises the error of a process that has all files open that it may, and [`out_of_files`] says what to do.
//!
//! It knows no format. Files that are read row by row are opened with [`open`]; their readers limit the length of a row.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod open_files;
mod special_file;
mod unfinished;

pub use open_files::{are_files_exhausted, is_out_of_files, open_file_limit, out_of_files};
pub use special_file::{is_own_stream, special_file};
pub use unfinished::{create_unfinished, remove_unfinished};

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use special_file::unreadable_special;

/// The most bytes of a file that is read as a whole.
pub const LARGEST: u64 = 512 << 20;

/// Why a file is not read although the system would read it. It is the inner error of the [`io::Error`] of this crate's functions; see
/// [`Unreadable::of`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is a pipe, a device or a socket.
    #[error("{0}")]
    Special(String),
    /// It has more than `limit` bytes.
    #[error("larger than {} MB, the most that is read of one file", limit >> 20)]
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
    },
    /// It is not text.
    #[error("line {line}, column {column}: not UTF-8 text; save it as UTF-8")]
    NotUtf8 {
        /// The line of the first invalid byte, from 1.
        line: u64,
        /// Its column in characters, from 1.
        column: u64,
    },
}

impl Unreadable {
    /// The reason in `error`, if this crate gave one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Special(_) => io::ErrorKind::InvalidInput,
            Self::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            Self::NotUtf8 { .. } => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, self)
    }
}

/// Opens a file for reading. A folder opens too, as it does with [`File::open`].
///
/// # Errors
/// When it cannot be opened, or is a pipe, a device or a socket that the process was not started with.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the function that checks first"
)]
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    match unreadable_special(path, &fs::metadata(path)?) {
        Some(reason) => Err(Unreadable::Special(reason).into_io()),
        None => {
            tracing::debug!(path = %path.display(), "opened");
            File::open(path)
        }
    }
}

/// Reads a whole file.
///
/// # Errors
/// Like [`open`], and when it cannot be read, or has more than [`LARGEST`] bytes.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path.as_ref(), LARGEST)
}

/// Reads a whole file of text.
///
/// # Errors
/// Like [`read`], and when it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        not_utf8(valid).into_io()
    })
}

fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let expected = file.metadata()?.len().min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
    // The length is that of now, and of no use for a stream: only what is read counts.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(Unreadable::TooLarge { limit }.into_io()),
        false => Ok(bytes),
    }
}

/// The place of the byte after `valid`.
fn not_utf8(valid: &[u8]) -> Unreadable {
    let line = valid.iter().filter(|byte| **byte == b'\n').count();
    let start = valid.iter().rposition(|byte| *byte == b'\n');
    let before = &valid[start.map_or(0, |newline| newline + 1)..];
    Unreadable::NotUtf8 {
        line: line as u64 + 1,
        column: String::from_utf8_lossy(before).chars().count() as u64 + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let file = file(b"12345");
        assert_eq!(read_at_most(file.path(), 5).unwrap(), b"12345");
        let error = read_at_most(file.path(), 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let reason = Unreadable::of(&error).unwrap();
        assert_eq!(*reason, Unreadable::TooLarge { limit: 4 });
    }

    #[test]
    fn the_place_of_what_is_not_text_is_named() {
        let file = file("a\nb\u{fc}\u{fc}".as_bytes());
        assert_eq!(read_text(file.path()).unwrap(), "a\nb\u{fc}\u{fc}");
        fs::write(file.path(), b"a\nb\xc3\xbc\xff").unwrap();
        let error = read_text(file.path()).unwrap_err();
        let reason = Unreadable::of(&error).unwrap();
        assert_eq!(*reason, Unreadable::NotUtf8 { line: 2, column: 3 });
        assert!(error.to_string().starts_with("line 2, column 3: "));
    }

    #[test]
    fn what_is_missing_is_the_systems_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(folder.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(Unreadable::of(&error), None);
        assert!(read(folder.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for (path, what) in [(Path::new("/dev/zero"), "a device"), (&pipe, "a pipe")] {
            let error = read(path).unwrap_err();
            let reason = Unreadable::Special(format!("not a file, but {what}"));
            assert_eq!(Unreadable::of(&error), Some(&reason));
        }
    }
}
