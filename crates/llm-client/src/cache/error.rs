//! The errors of the cache file.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

use files::{are_files_exhausted, out_of_files};

/// Why the response cache cannot be used. Its text is for people: it names the file and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// SQLite cannot use the file.
    #[error("the response cache {} {}", path.display(), sqlite_problem(source))]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
    /// The folder of the file does not exist and cannot be created.
    #[error("the folder of the response cache {} cannot be made: {source}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The thread that writes could not be started.
    #[error("the response cache {} cannot start its writer: {source}", path.display())]
    Thread {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The thread that writes has ended.
    #[error("the response cache {} cannot take a reply: its thread stopped by a fault in the program", path.display())]
    WriterStopped {
        /// The file.
        path: PathBuf,
    },
    /// A file that an earlier version left beside the cache file cannot be read or removed.
    #[error("the response cache {} cannot use the files beside it whose names begin with its own and `-tail`: {source}", path.display())]
    Tail {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// This process has as many files open as it may.
    #[error("the response cache {} cannot be opened: {}", path.display(), out_of_files())]
    OutOfFiles {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another program.
    #[error("{} is a database of another program, not a response cache: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "the response cache {} was written by a newer version of Probity (format {found}, and this one knows up to {known}): \
         update Probity, or name another file",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this version reads.
        known: i64,
    },
}

impl CacheError {
    /// SQLite cannot use the file at `path`, or no further file at all.
    pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        // SQLite only says that it cannot open a file.
        match are_files_exhausted() {
            true => Self::OutOfFiles { path },
            false => Self::Sqlite { path, source },
        }
    }

    /// Whether SQLite found damaged pages.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Sqlite { source, .. } if is_damage(source))
    }
}

/// Whether SQLite found damaged pages, or was interrupted because they lead in circles. Nothing else interrupts it.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::OperationInterrupted)
    )
}

/// Whether a row claims a length that no row has.
pub(super) fn is_too_long(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::TooBig)
}

/// The problem, with advice.
fn sqlite_problem(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::OperationInterrupted,
        ) => {
            return format!(
                "is damaged and cannot be repaired, or is no cache at all ({error}): move it away, or name another file; without \
                 it, calls are made, and cost, again"
            );
        }
        Some(ErrorCode::CannotOpen) => "check that its folder is there and may be written to",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "it may not be written to: change its permissions, or name another file"
        }
        Some(ErrorCode::DiskFull) => "the disk is full, or the cache has reached its largest size",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds it; wait for that one to end"
        }
        Some(ErrorCode::SystemIoFailure) => "the disk fails, or is full",
        _ => return format!("cannot be used: {error}"),
    };
    format!("cannot be used ({error}): {advice}")
}
