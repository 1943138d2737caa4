//! The manifest of a run: written when the run starts, and again when it ends.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;
use store::{Manifest, RunError, write_json};

use crate::{report::RunOutcome, session::Session};

/// The manifest of a run, and the folder that it is written to.
pub(crate) struct RunRecord {
    folder: Option<PathBuf>,
    manifest: Manifest,
}

impl RunRecord {
    /// Writes the manifest of a run that starts; `None`: none is written. `own` is what this kind of run records of itself.
    pub(crate) fn start(
        session: &Session,
        folder: Option<PathBuf>,
        own: Manifest,
    ) -> Result<Self, RunError> {
        let manifest = Manifest {
            format_version: Manifest::FORMAT_VERSION.to_owned(),
            run_id: session.run_id().to_string(),
            probity_version: env!("CARGO_PKG_VERSION").to_owned(),
            start: Timestamp::now().to_string(),
            ..own
        };
        let record = Self { folder, manifest };
        record.write()?;
        Ok(record)
    }

    /// Adds the results of a benchmark, or of a target of a safety evaluation.
    pub(crate) fn add(&mut self, name: &str, results: Value) {
        self.manifest.results.insert(name.to_owned(), results);
    }

    /// Writes how the run ended.
    pub(crate) fn end(mut self, session: &Session, outcome: RunOutcome) -> Result<(), RunError> {
        self.manifest.results.sort_keys();
        self.manifest.end = Some(Timestamp::now().to_string());
        let models = session.meter().model_names().into_iter();
        self.manifest.models = models
            .map(|(id, names)| (id.to_string(), names.into_iter().collect()))
            .collect();
        self.manifest.outcome = Some(outcome.as_str().to_owned());
        self.write()
    }

    fn write(&self) -> Result<(), RunError> {
        match &self.folder {
            Some(folder) => write_json(&folder.join(Manifest::FILE), &self.manifest),
            None => Ok(()),
        }
    }
}
