//! The exporter: one log file per target.

use std::{fs::File, path::PathBuf};

use schema::numbers::grouped;

use super::{ids::file_name, writer::LogWriter};
use crate::{ExportError, Exported, Exporter, OutFile, Run, Sample};

/// The two forms of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A zip file with one JSON file per sample: Inspect's default. It is small, and samples are read one at a time.
    Eval,
    /// One JSON file.
    Json,
}

impl LogFormat {
    /// `eval` or `json`.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Eval => "eval",
            Self::Json => "json",
        }
    }
}

/// Writes one log per target into a folder, with the name from [`file_name`]. The same run gives the same bytes.
pub struct InspectLogs {
    folder: PathBuf,
    format: LogFormat,
    open: Option<Open>,
    exported: Exported,
}

/// The log that is being written.
struct Open {
    path: PathBuf,
    log: LogWriter<OutFile, File>,
    /// The target's name in notes and errors.
    target: String,
    /// The number of samples that the log already had.
    twice: u64,
}

impl InspectLogs {
    /// Logs of `format` in `folder`, which is created if it does not exist.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, format: LogFormat) -> Self {
        Self {
            folder: folder.into(),
            format,
            open: None,
            exported: Exported::default(),
        }
    }
}

impl Exporter for InspectLogs {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        let path = self.folder.join(file_name(run, self.format));
        let out = OutFile::create(&path)?;
        let unwritable = |error| ExportError::write(&path, error);
        let scratch = tempfile::tempfile_in(&self.folder).map_err(unwritable)?;
        let log = LogWriter::new(run, self.format, out, scratch).map_err(unwritable)?;
        self.open = Some(Open {
            log,
            target: format!("{}, {}", run.folder, run.target.id),
            twice: 0,
            path,
        });
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let Some(open) = &mut self.open else {
            return Err(ExportError::nothing("no log was begun"));
        };
        let written = open
            .log
            .push(sample)
            .map_err(|error| ExportError::write(&open.path, error))?;
        open.twice += u64::from(!written);
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if open.log.samples() == 0 {
            return Err(ExportError::nothing(format!(
                "{}: there are no conversations to write a log of",
                open.target
            )));
        }
        let out = open
            .log
            .finish()
            .map_err(|error| ExportError::write(&open.path, error))?;
        self.exported.files.push(out.keep()?);
        if open.twice > 0 {
            self.exported.notes.push(format!(
                "{}: left out {} of the conversations: the log has the same sample of the same scenario already",
                open.target,
                grouped(open.twice)
            ));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(self.exported)
    }
}
