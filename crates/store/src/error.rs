//! What can keep a run from starting or from writing its results.

use std::{error::Error, io, path::Path};

use schema::{is_out_of_files, out_of_files};

/// Why a run could not start or could not write. Made to be read by people: it names the file and says what to do.
///
/// Failed rows are no such error: they are in the run's report.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PipelineError {
    kind: PipelineErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What to do where no further file can be opened.
fn files_hint(error: &io::Error) -> String {
    if is_out_of_files(error) {
        format!(": {}", out_of_files())
    } else {
        String::new()
    }
}

/// Of what sort a [`PipelineError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PipelineErrorKind {
    /// A file or a name given cannot be used.
    Input,
    /// A file cannot be written.
    Output,
    /// Another run works on the same tree.
    Busy,
}

impl PipelineError {
    /// Input that cannot be used.
    #[must_use]
    pub fn input(message: impl Into<String>) -> Self {
        Self {
            kind: PipelineErrorKind::Input,
            message: message.into(),
            source: None,
        }
    }

    /// Something cannot be written.
    pub fn output(message: impl Into<String>) -> Self {
        Self {
            kind: PipelineErrorKind::Output,
            ..Self::input(message)
        }
    }

    /// Another run is at work.
    pub fn busy(message: impl Into<String>) -> Self {
        Self {
            kind: PipelineErrorKind::Busy,
            message: message.into(),
            source: None,
        }
    }

    /// A file that cannot be read.
    pub fn read(path: &Path, error: io::Error) -> Self {
        let hint = files_hint(&error);
        let message = format!("{}: cannot be read: {error}{hint}", path.display());
        Self {
            kind: PipelineErrorKind::Input,
            message,
            source: Some(error.into()),
        }
    }

    /// Why `text` is not UTF-8: the line of the first byte that is none.
    pub fn not_utf8(path: &Path, text: &[u8], error: std::str::Utf8Error) -> Self {
        let before = text.iter().take(error.valid_up_to());
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        Self::input(format!(
            "{}, line {line}: the file is not UTF-8 text. Save it as UTF-8",
            path.display()
        ))
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
        let message = format!("{}: cannot be written: {error}{hint}", path.display());
        Self {
            kind: PipelineErrorKind::Output,
            message,
            source: Some(error.into()),
        }
    }

    /// Adds the error underneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Of what sort it is.
    #[must_use]
    pub fn kind(&self) -> PipelineErrorKind {
        self.kind
    }
}
