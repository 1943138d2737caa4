//! The options of a check, and the errors of a path that cannot be checked.

use std::{fmt, io, path::Path};

use schema::ProgramFlag;
use serde_json::Value;

use crate::{Finding, Kind, syntax::SyntaxFault};

/// Reads a configuration file and returns its errors.
pub type ConfigReader<'a> = &'a dyn Fn(&Path) -> Vec<Finding>;

/// The options of a check.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The kind of the file, if neither its name nor its content shows it.
    pub kind: Option<Kind>,
    /// The most findings of a file that are kept. All are counted.
    pub keep: usize,
    /// Reads a configuration. `None`: only its syntax is checked.
    pub config: Option<ConfigReader<'a>>,
    /// Creates the schema of the output of commands. `None`: only its syntax and its version are checked.
    pub output: Option<fn() -> Value>,
}

impl Default for Options<'_> {
    /// Kinds are detected, and the first hundred findings of a file are kept.
    fn default() -> Self {
        Self {
            kind: None,
            keep: 100,
            config: None,
            output: None,
        }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("kind", &self.kind)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// Why a path cannot be checked. Its text names the path and includes advice.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Unchecked {
    path: String,
    reason: String,
}

impl Unchecked {
    fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self {
            path: path.display().to_string(),
            reason: reason.into(),
        }
    }

    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "no such file or folder".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        Self::new(path, reason)
    }

    /// A special file: a pipe cannot be read more than once, and a device may have no end.
    pub(crate) fn special(path: &Path, what: &str) -> Self {
        Self::new(
            path,
            format!("not a file, but {what}; copy its content to a file and check that"),
        )
    }

    pub(crate) fn unknown(path: &Path) -> Self {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        Self::new(
            path,
            format!("unknown kind of file. Pass `{}`, one of {kinds}", as_kind()),
        )
    }

    /// A file with a syntax error, so that its kind cannot be detected. The error has a position, like a
    /// finding.
    pub(crate) fn broken(path: &Path, fault: &SyntaxFault) -> Self {
        let place = fault
            .place
            .map(|place| format!(":{}:{}", place.line, place.column));
        Self {
            path: format!("{}{}", path.display(), place.unwrap_or_default()),
            reason: format!("{}. Fix that first, or pass `{}`", fault.reason, as_kind()),
        }
    }

    pub(crate) fn nothing(path: &Path) -> Self {
        Self::new(path, "nothing in this folder is recognised")
    }

    pub(crate) fn folder_as(path: &Path) -> Self {
        let flag = ProgramFlag::new("as");
        let reason = format!("this is a folder, and `{flag}` applies to files only");
        Self::new(path, reason)
    }
}

/// The flag that says what kind a file is.
fn as_kind() -> ProgramFlag {
    ProgramFlag::new("as").value("KIND")
}
