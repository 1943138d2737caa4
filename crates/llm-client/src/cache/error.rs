//! What can be wrong with the file.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

use crate::files::{are_out, out_of_files};

/// Why the response cache cannot be used. Its text is made to be read by people: it names the file and says what to do.
#[derive(Debug)]
pub struct CacheError {
    path: PathBuf,
    problem: Problem,
}

/// What is wrong.
#[derive(Debug)]
pub(super) enum Problem {
    Sqlite(rusqlite::Error),
    Folder(std::io::Error),
    Thread(std::io::Error),
    Tail(std::io::Error),
    OutOfFiles,
    Foreign,
    Newer { found: i64, known: i64 },
}

impl CacheError {
    pub(super) fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        // SQLite only says that it cannot open a file.
        let problem = match problem.into() {
            Problem::Sqlite(_) | Problem::Tail(_) | Problem::Folder(_) if are_out() => {
                Problem::OutOfFiles
            }
            problem => problem,
        };
        Self {
            path: path.to_owned(),
            problem,
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Tail(error)
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            Problem::Sqlite(error) => {
                write!(f, "the response cache {path} {}", sqlite_problem(error))
            }
            Problem::Folder(error) => write!(
                f,
                "the folder of the response cache {path} cannot be made: {error}"
            ),
            Problem::Thread(error) => {
                write!(
                    f,
                    "the response cache {path} cannot start its writer: {error}"
                )
            }
            Problem::Tail(error) => write!(
                f,
                "the response cache {path} cannot use the files beside it whose names begin with its own and `-tail`: {error}"
            ),
            Problem::OutOfFiles => write!(
                f,
                "the response cache {path} cannot be opened: {}",
                out_of_files()
            ),
            Problem::Foreign => write!(
                f,
                "{path} is a database of another program, not a response cache: name another file"
            ),
            Problem::Newer { found, known } => write!(
                f,
                "the response cache {path} was written by a newer version of Probity (format {found}, and this one knows up \
                 to {known}): update Probity, or name another file"
            ),
        }
    }
}

impl Error for CacheError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.problem {
            Problem::Sqlite(error) => Some(error),
            Problem::Folder(error) | Problem::Thread(error) | Problem::Tail(error) => Some(error),
            Problem::OutOfFiles | Problem::Foreign | Problem::Newer { .. } => None,
        }
    }
}

/// Whether SQLite has found pages that make no sense.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// What is wrong, and what to do about it.
pub(super) fn sqlite_problem(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            return format!(
                "is damaged or no cache at all ({error}): delete it, or name another file; deleting it only means that \
                 replies are paid for again"
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
