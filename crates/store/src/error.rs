//! Errors that keep a run from starting or from writing its results.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use files::Unreadable;
use files::{is_out_of_files, out_of_files};
use located::{
    YamlError,
    json::{JsonRowsError, JsonRowsFault},
};
use schema::{Notice, notice};

use crate::{SegmentFault, segments::segment_of};

/// Why a run could not start or could not write. The text is for people: it names the file and says what to do.
///
/// Failed rows are not reported with this error: they are in the run's report. It is displayed as by a program that is called `probity`;
/// others show [`RunError::notice`].
#[derive(Debug, thiserror::Error)]
#[error("{}", self.notice())]
pub struct RunError {
    kind: RunErrorKind,
    file: Option<FilePosition>,
    reason: Notice,
    /// What to do about it.
    help: Option<Box<Notice>>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// A file, with the line and column as far as they are known. Both are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilePosition {
    path: PathBuf,
    line: Option<u64>,
    column: Option<u64>,
}

/// What to do if no further file can be opened.
fn files_hint(error: &io::Error) -> String {
    if is_out_of_files(error) {
        format!(": {}", out_of_files())
    } else {
        String::new()
    }
}

/// The text of a read error, with advice if it is about half of a surrogate pair: other languages write and read such escapes, but UTF-8
/// cannot represent them.
#[must_use]
pub fn explain_read_error(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    match text.contains("hex escape") {
        true => format!(
            "{text}. A \\u escape there is half of a surrogate pair; replace it with \\ufffd"
        ),
        false => text,
    }
}

/// The kind of a [`RunError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// A given file or name cannot be used.
    Input,
    /// A file cannot be written.
    Output,
    /// Another run works on the same tree.
    Busy,
}

impl RunError {
    /// Input that cannot be used.
    #[must_use]
    pub fn input(message: impl Into<Notice>) -> Self {
        Self {
            kind: RunErrorKind::Input,
            file: None,
            reason: message.into(),
            help: None,
            source: None,
        }
    }

    /// A file that cannot be used, with the faulty line, counted from 1.
    pub fn in_file(path: &Path, line: Option<u64>, reason: impl Into<Notice>) -> Self {
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

    /// A list of rows that cannot be used. The text has row, line and column; of segments it names the segment and the line in it.
    pub fn in_rows(path: &Path, error: JsonRowsError) -> Self {
        match (error.fault, segment_of(path, error.row)) {
            (JsonRowsFault::Read(error), _) => Self::read(path, error),
            (fault, Some((segment, line))) => {
                Self::in_file(&segment, Some(line), format!("row {}: {fault}", error.row))
            }
            (fault, None) => {
                Self::in_file(path, None, JsonRowsError { fault, ..error }.to_string())
            }
        }
    }

    /// A segment that cannot be used.
    pub(crate) fn in_segment(fault: &SegmentFault) -> Self {
        Self::in_file(&fault.path, None, fault.reason.clone()).with_help(fault.help)
    }

    /// Something cannot be written.
    pub fn output(message: impl Into<Notice>) -> Self {
        Self {
            kind: RunErrorKind::Output,
            ..Self::input(message)
        }
    }

    /// Another run is working on the tree.
    pub fn busy(message: impl Into<Notice>) -> Self {
        Self {
            kind: RunErrorKind::Busy,
            ..Self::input(message)
        }
    }

    /// A file that cannot be read.
    pub fn read(path: &Path, error: io::Error) -> Self {
        if let Some(fault) = SegmentFault::of(&error) {
            return Self::in_segment(fault);
        }
        let (mut line, mut column) = (None, None);
        let reason = match Unreadable::of(&error) {
            Some(Unreadable::Special(reason)) => format!("{reason}. Put a file in its place"),
            Some(Unreadable::NotUtf8 { line: l, column: c }) => {
                (line, column) = (Some(*l), Some(*c));
                "the file is not UTF-8 text. Save it as UTF-8".to_owned()
            }
            Some(Unreadable::TooLarge { .. }) => error.to_string(),
            None => format!("cannot be read: {error}{}", files_hint(&error)),
        };
        Self {
            file: Some(FilePosition {
                path: path.to_owned(),
                line,
                column,
            }),
            source: Some(error.into()),
            ..Self::input(reason)
        }
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

    /// Adds advice, as a sentence without a full stop: it is shown on its own line.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Notice>) -> Self {
        self.help = Some(Box::new(help.into()));
        self
    }

    /// The advice, if there is any.
    #[must_use]
    pub fn help(&self) -> Option<&Notice> {
        self.help.as_deref()
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, for the next one who asks: the text without the underlying error.
    pub(crate) fn without_source(&self) -> Self {
        Self {
            kind: self.kind,
            file: self.file.clone(),
            reason: self.reason.clone(),
            help: self.help.clone(),
            source: None,
        }
    }

    /// The file at fault, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// The error without the file's name: line and column, if known, and the mistake.
    #[must_use]
    pub fn in_words(&self) -> Notice {
        match self.position() {
            position if position.is_empty() => self.reason.clone(),
            position => notice![position, ": ", self.reason.clone()],
        }
    }

    /// The whole text: the file, the mistake, and on the next line the advice.
    #[must_use]
    pub fn notice(&self) -> Notice {
        let message = notice![self.at_file(), self.reason.clone()];
        match self.help() {
            Some(help) => notice![message, "\nhelp: ", help.clone()],
            None => message,
        }
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

    /// `scenarios.json, line 3: `; empty if no file is at fault.
    fn at_file(&self) -> String {
        let Some(file) = &self.file else {
            return String::new();
        };
        match self.position() {
            position if position.is_empty() => format!("{}: ", file.path.display()),
            position => format!("{}, {position}: ", file.path.display()),
        }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> RunErrorKind {
        self.kind
    }
}
