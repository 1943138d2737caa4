//! What can keep a run from starting or from writing its results.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use schema::{
    is_out_of_files,
    json_rows::{JsonRowsError, JsonRowsFault},
    out_of_files,
    yaml::YamlError,
};

/// Why a run could not start or could not write. Made to be read by people: it names the file and says what to do.
///
/// Failed rows are no such error: they are in the run's report.
#[derive(Debug, thiserror::Error)]
#[error("{}{reason}{}", self.at_file(), self.help_line())]
pub struct RunError {
    kind: RunErrorKind,
    file: Option<FilePosition>,
    reason: String,
    /// What to do about it.
    help: Option<Box<str>>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// A file, and the line and column in it as far as they are known. Both are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilePosition {
    path: PathBuf,
    line: Option<u64>,
    column: Option<u64>,
}

/// What to do where no further file can be opened.
fn files_hint(error: &io::Error) -> String {
    if is_out_of_files(error) {
        format!(": {}", out_of_files())
    } else {
        String::new()
    }
}

/// Of what sort a [`RunError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// A file or a name given cannot be used.
    Input,
    /// A file cannot be written.
    Output,
    /// Another run works on the same tree.
    Busy,
}

impl RunError {
    /// Input that cannot be used.
    #[must_use]
    pub fn input(message: impl Into<String>) -> Self {
        Self {
            kind: RunErrorKind::Input,
            file: None,
            reason: message.into(),
            help: None,
            source: None,
        }
    }

    /// A file that cannot be used, with the line at fault, from 1.
    pub fn in_file(path: &Path, line: Option<u64>, reason: impl Into<String>) -> Self {
        Self {
            file: Some(FilePosition {
                path: path.to_owned(),
                line,
                column: None,
            }),
            ..Self::input(reason)
        }
    }

    /// A YAML file that cannot be used.
    pub fn in_yaml(path: &Path, error: &YamlError) -> Self {
        let location = error.location();
        Self {
            file: Some(FilePosition {
                path: path.to_owned(),
                line: location.map(|location| location.line),
                column: location.map(|location| location.column),
            }),
            ..Self::input(error.at_key())
        }
    }

    /// A list of rows that cannot be used: the text has row, line and column.
    pub fn in_rows(path: &Path, error: JsonRowsError) -> Self {
        match error.fault {
            JsonRowsFault::Read(error) => Self::read(path, error),
            _ => Self::in_file(path, None, error.to_string()),
        }
    }

    /// Something cannot be written.
    pub fn output(message: impl Into<String>) -> Self {
        Self {
            kind: RunErrorKind::Output,
            ..Self::input(message)
        }
    }

    /// Another run is at work.
    pub fn busy(message: impl Into<String>) -> Self {
        Self {
            kind: RunErrorKind::Busy,
            ..Self::input(message)
        }
    }

    /// A file that cannot be read.
    pub fn read(path: &Path, error: io::Error) -> Self {
        let hint = files_hint(&error);
        let reason = format!("cannot be read: {error}{hint}");
        Self {
            source: Some(error.into()),
            ..Self::in_file(path, None, reason)
        }
    }

    /// Why `text` is not UTF-8: the line of the first byte that is none.
    pub fn not_utf8(path: &Path, text: &[u8], error: std::str::Utf8Error) -> Self {
        let before = text.iter().take(error.valid_up_to());
        let line = before.filter(|byte| **byte == b'\n').count() as u64 + 1;
        let reason = "the file is not UTF-8 text. Save it as UTF-8";
        Self::in_file(path, Some(line), reason)
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                ". Free some space and run the same command again".to_owned()
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ". Check the folder's permissions".to_owned()
            }
            _ => files_hint(&error),
        };
        let reason = format!("cannot be written: {error}{hint}");
        Self {
            kind: RunErrorKind::Output,
            source: Some(error.into()),
            ..Self::in_file(path, None, reason)
        }
    }

    /// Adds what to do about it, as a sentence without a full stop: it is shown on a line of its own.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into().into_boxed_str());
        self
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Adds the error underneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The file at fault, where it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// The error without the file's name: line and column, where they are known, and what is wrong.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.position() {
            position if position.is_empty() => self.reason.clone(),
            position => format!("{position}: {}", self.reason),
        }
    }

    /// The advice as the line behind the message.
    fn help_line(&self) -> String {
        self.help()
            .map_or_else(String::new, |help| format!("\nhelp: {help}"))
    }

    /// `line 3, column 7`.
    fn position(&self) -> String {
        let file = self.file.as_ref();
        let line = file.and_then(|file| file.line).map(|n| format!("line {n}"));
        let column = file
            .and_then(|file| file.column)
            .map(|n| format!("column {n}"));
        let parts: Vec<String> = line.into_iter().chain(column).collect();
        parts.join(", ")
    }

    /// `scenarios.json, line 3: `; empty where no file is at fault.
    fn at_file(&self) -> String {
        let Some(file) = &self.file else {
            return String::new();
        };
        match self.position() {
            position if position.is_empty() => format!("{}: ", file.path.display()),
            position => format!("{}, {position}: ", file.path.display()),
        }
    }

    /// Of what sort it is.
    #[must_use]
    pub fn kind(&self) -> RunErrorKind {
        self.kind
    }
}
