//! Keeps copies, under another name, of files that a run is about to replace and could not produce again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use schema::{ModelId, Phase};

use super::{FileProvenance, Settings};
use crate::{BenchmarkDir, RowForm, RunError, copy_plain, plain_path};

/// Between the name of a file and the digest of its content, in the name of a kept copy.
const KEPT: &str = ".kept-";

/// Whether `name` is the name of a copy of one of `files` that a run kept.
pub fn is_kept_copy(name: &str, files: &[&str]) -> bool {
    files.iter().any(|file| {
        let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
        let short = name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix(KEPT))
            .and_then(|rest| rest.strip_suffix(extension)?.strip_suffix('.'));
        short.is_some_and(|short| short.chars().all(|c| c.is_ascii_hexdigit()))
    })
}

/// A file of the tree that a run replaced after keeping a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedFile {
    /// The phase that wrote the new file.
    pub phase: Phase,
    /// The target; `None` for a file of the benchmark.
    pub target: Option<ModelId>,
    /// Why a copy was kept.
    pub reason: ReplaceReason,
    /// The copy, beside the file.
    pub copy: PathBuf,
}

/// Why a copy of a file is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceReason {
    /// Another evaluator, in an earlier run, gave the verdicts of the file.
    OtherEvaluator {
        /// The run that wrote it.
        run_id: String,
        /// The settings that differ.
        changed: Vec<String>,
    },
    /// The file was changed since this run wrote it.
    Edited {
        /// The run that wrote it.
        run_id: String,
    },
    /// No record documents the file: it was copied here, or its record was deleted.
    Unknown,
}

/// A copy of a file that is about to be replaced.
pub struct KeptCopy {
    path: PathBuf,
    hash: String,
    reason: ReplaceReason,
    /// Whether no copy with this content existed before.
    new: bool,
}

impl KeptCopy {
    /// Keeps a copy of the file at `path`, unless `record` shows how to produce it again. `evaluator` is the evaluator of this
    /// run, for a file of verdicts.
    ///
    /// # Errors
    /// When the copy cannot be made. The caller must then not replace the file.
    pub fn of(
        dir: &BenchmarkDir,
        path: &Path,
        record: Option<&FileProvenance>,
        evaluator: Option<&Settings>,
    ) -> Result<Option<Self>, RunError> {
        let Some(hash) = dir.digest(path) else {
            return Ok(None);
        };
        let Some(reason) = reason(&hash, record, evaluator) else {
            return Ok(None);
        };
        Self::because(dir, path, reason)
    }

    /// Keeps a copy of the file at `path`, if there is one. Of segments that is a plain file with their rows.
    ///
    /// # Errors
    /// When the copy cannot be made. The caller must then not replace the file.
    pub fn because(
        dir: &BenchmarkDir,
        path: &Path,
        reason: ReplaceReason,
    ) -> Result<Option<Self>, RunError> {
        let Some(hash) = dir.digest(path) else {
            return Ok(None);
        };
        let short = hash.get(..8).unwrap_or_default();
        let plain = plain_path(path);
        let [stem, extension] = [plain.file_stem(), plain.extension()]
            .map(|part| part.unwrap_or_default().to_string_lossy());
        let copy = plain.with_file_name(format!("{stem}{KEPT}{short}.{extension}"));
        let new = !copy.exists();
        match RowForm::of(path) {
            _ if !new => {}
            RowForm::Plain => keep(path, &copy).map_err(|error| RunError::write(&copy, error))?,
            RowForm::Segments => copy_plain(path, &copy)?,
        }
        Ok(Some(Self {
            path: copy,
            hash,
            reason,
            new,
        }))
    }

    /// Called when the file at `path` has been written. A copy with the same content is removed.
    pub fn replaced_by(
        self,
        hash: &str,
        phase: Phase,
        target: Option<&ModelId>,
    ) -> Option<ReplacedFile> {
        if self.hash == hash {
            if self.new {
                // A leftover copy does no harm.
                let _ = fs::remove_file(&self.path);
            }
            return None;
        }
        Some(ReplacedFile {
            phase,
            target: target.cloned(),
            reason: self.reason,
            copy: self.path,
        })
    }
}

/// Keeps the old content under a second name. The file is replaced by a rename, so a hard link is enough where the file system
/// supports it.
fn keep(path: &Path, copy: &Path) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path)?.file_type().is_symlink();
    if !is_link && fs::hard_link(path, copy).is_ok() {
        return Ok(());
    }
    fs::copy(path, copy).map(|_| ()).inspect_err(|_| {
        // A partial copy is useless.
        let _ = fs::remove_file(copy);
    })
}

fn reason(
    hash: &str,
    record: Option<&FileProvenance>,
    evaluator: Option<&Settings>,
) -> Option<ReplaceReason> {
    let Some(record) = record else {
        return Some(ReplaceReason::Unknown);
    };
    let run_id = record.run_id.clone();
    match &record.sha256 {
        None => return Some(ReplaceReason::Unknown),
        Some(written) if written != hash => return Some(ReplaceReason::Edited { run_id }),
        Some(_) => {}
    }
    let is_definition = |key: &String| key.starts_with("metrics.");
    let changed: Vec<String> = super::changes(&record.settings, evaluator?)
        .into_iter()
        .filter(|key| !is_definition(key))
        .collect();
    (!changed.is_empty()).then_some(ReplaceReason::OtherEvaluator { run_id, changed })
}
