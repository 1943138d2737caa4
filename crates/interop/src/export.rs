//! The interface of all exporters.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use schema::statistics::CorrectedDifference;
use tempfile::{NamedTempFile, TempPath};

use crate::{Run, Sample};

/// Writes runs in one format. For each target: [`begin`](Self::begin), [`push`](Self::push) for every sample, [`end`](Self::end); after
/// all targets [`finish`](Self::finish). A file gets its name when it is complete.
pub trait Exporter {
    /// Starts a target.
    ///
    /// # Errors
    /// When a file cannot be written, or nothing of the target can be expressed in the format.
    fn begin(&mut self, run: &Run) -> Result<(), ExportError>;

    /// Adds the target's next sample.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn push(&mut self, sample: &Sample) -> Result<(), ExportError>;

    /// Ends the target.
    ///
    /// # Errors
    /// When a file cannot be written, or the format can express nothing of the target: its files are removed then, and the next target can
    /// follow.
    fn end(&mut self) -> Result<(), ExportError>;

    /// Adds the differences of the corrected rates of a benchmark's targets. `folder` is the name of its folder. Called after its last target,
    /// if there are any. Most formats cannot represent them.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn corrected_differences(
        &mut self,
        _folder: &str,
        _differences: &[CorrectedDifference],
    ) -> Result<(), ExportError> {
        Ok(())
    }

    /// Reports the gaps of the input, one line each: missing rows, refused targets. Called once, after the last target. Most formats
    /// cannot represent them.
    fn note_problems(&mut self, _problems: &[&str]) {}

    /// Ends the export, after all targets.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn finish(self: Box<Self>) -> Result<Exported, ExportError>;
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The files, in the order they were written.
    pub files: Vec<PathBuf>,
    /// Notes for people about what could not be exported, one line each.
    pub notes: Vec<String>,
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ExportError {
    fault: ExportFailure,
}

#[derive(Debug, thiserror::Error)]
enum ExportFailure {
    #[error("{}: cannot be written: {error}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{0}")]
    Nothing(String),
}

impl ExportError {
    /// A file that cannot be written.
    #[must_use]
    pub fn write(path: &Path, error: io::Error) -> Self {
        Self {
            fault: ExportFailure::Write {
                path: path.to_owned(),
                error,
            },
        }
    }

    /// A target of which the format can express nothing. `reason` says why, and includes advice.
    #[must_use]
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self {
            fault: ExportFailure::Nothing(reason.into()),
        }
    }

    /// Whether only this target cannot be exported, while others can.
    #[must_use]
    pub fn is_of_target(&self) -> bool {
        matches!(self.fault, ExportFailure::Nothing(_))
    }
}

/// A file that gets its name when it is complete. If it is dropped before [`OutFile::keep`], it is removed.
#[derive(Debug)]
pub struct OutFile {
    path: PathBuf,
    file: io::BufWriter<fs::File>,
    /// Where it is until then.
    unfinished: TempPath,
}

impl OutFile {
    /// Creates the file that will be `path`, and its folder.
    ///
    /// # Errors
    /// When the folder or the file cannot be created.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, ExportError> {
        let path = path.into();
        let make = || -> io::Result<NamedTempFile> {
            let there = fs::metadata(&path).ok();
            if let Some(what) = there.as_ref().and_then(files::special_file) {
                let reason = format!("it links to {what}, which is not replaced by a file");
                return Err(io::Error::other(reason));
            }
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            // The error of the library names the unfinished file, which is none of the user's.
            let file = files::create_unfinished(folder).map_err(|error| error.kind())?;
            Ok(file)
        };
        match make() {
            Ok(file) => {
                let (file, unfinished) = file.into_parts();
                Ok(Self {
                    path,
                    file: io::BufWriter::with_capacity(1 << 16, file),
                    unfinished,
                })
            }
            Err(error) => Err(ExportError::write(&path, error)),
        }
    }

    /// The final path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final path, replacing an existing file. Returns the path.
    ///
    /// # Errors
    /// When the remaining bytes cannot be written, or the file cannot be renamed.
    pub fn keep(self) -> Result<PathBuf, ExportError> {
        let Self {
            path,
            file,
            unfinished,
        } = self;
        // Open until it has its name: what is not locked is taken for a killed export's.
        let _file = file
            .into_inner()
            .map_err(|error| ExportError::write(&path, error.into_error()))?;
        unfinished
            .persist(&path)
            .map_err(|error| ExportError::write(&path, error.error))?;
        Ok(path)
    }

    /// `done`, with an error that names this file.
    ///
    /// # Errors
    /// The error of `done`.
    pub fn with_path<T>(&self, done: io::Result<T>) -> Result<T, ExportError> {
        done.map_err(|error| ExportError::write(&self.path, error))
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
