//! `imported.json`: where an imported benchmark came from.

use std::path::Path;

use schema::TargetRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BenchmarkDir, Layout, RunError, write_json};

const NAME: &str = "imported.json";

/// The content of `imported.json`: where an imported benchmark came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRecord {
    /// Version of the file's format.
    pub format_version: String,
    /// `tree`, `inspect`, `eee`, `promptfoo`, `petri`, `jsonl`, or `labels` for an import by `judge-check`.
    pub from: String,
    /// The names of the files, without folders.
    pub files: Vec<String>,
    /// The systems under test, whether or not they are configured.
    pub targets: Vec<TargetRef>,
    /// The scorers whose scores were imported as verdicts, as on the command line: `match=m01:>=0.5`, or `metrics` for the scorers that
    /// are called as the metrics are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<String>,
    /// The key whose value dependent samples share, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}

impl ImportRecord {
    /// Version of this format.
    pub const FORMAT_VERSION: &str = "1.2.0";

    /// The record of an import that comes `from` these files.
    #[must_use]
    pub fn new(from: &str, files: Vec<String>, targets: Vec<TargetRef>) -> Self {
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            from: from.to_owned(),
            files,
            targets,
            verdicts: Vec::new(),
            cluster: None,
        }
    }

    /// Writes the record into the benchmark's `folder`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RunError> {
        write_json(&folder.join(NAME), self)
    }

    /// Reads the record of a benchmark; `None` if it was not imported.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(dir: &BenchmarkDir) -> Result<Option<Self>, RunError> {
        let path = dir.root().join(NAME);
        let text = match files::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RunError::read(&path, error)),
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| RunError::input(format!("{}: {error}", path.display())))
    }
}

/// The systems under test whose conversations were imported into the benchmark `name` and still exist. Empty if nothing was
/// imported.
///
/// They may be missing from the configuration: judging their conversations does not call them.
///
/// # Errors
/// When `name` is not a valid name, or the benchmark's `imported.json` cannot be read.
pub fn imported_targets(layout: &Layout, name: &str) -> Result<Vec<TargetRef>, RunError> {
    let dir = layout.benchmark(name)?;
    let Some(record) = ImportRecord::read(&dir)? else {
        return Ok(Vec::new());
    };
    let there = |target: &TargetRef| {
        dir.target(&target.id)
            .is_ok_and(|files| files.conversations().exists())
    };
    Ok(record.targets.into_iter().filter(there).collect())
}
