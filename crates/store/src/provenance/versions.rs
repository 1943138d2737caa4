//! The versions of prompts and rules that a benchmark began with.

use std::fs;

use schema::{ProgramFlag, PromptVersions, setting_keys::PROMPT_VERSION};
use serde_json::Value;

use super::Provenance;
use crate::{BenchmarkDir, ImportRecord, RunError, TargetDir, read_baseline, read_grades};

/// The versions that a benchmark began with; `None` if its files do not show that it began.
///
/// The first of these decides:
/// 1. The record of the benchmark, which every run writes before its first call.
/// 2. `grades.json`, for a tree without its record, such as one from version control. Without versions in it: [`PromptVersions::FIRST`].
/// 3. `baseline.json`, for a benchmark whose results are not kept.
/// 4. Conversations or scores, or a record of them, without any of these were made before versions were recorded:
///    [`PromptVersions::FIRST`]. Those of an imported benchmark without a record were not made here, so they show nothing.
///
/// A benchmark of which only the response cache is left has no such file; the caller can look up which versions the cache answers.
///
/// # Errors
/// When the record has versions that this version of Probity does not have, or `imported.json` cannot be read.
pub fn begun_with(dir: &BenchmarkDir) -> Result<Option<PromptVersions>, RunError> {
    let record = Provenance::read(dir);
    if let Some(recorded) = record.prompts {
        return known(dir, recorded).map(Some);
    }
    let has_grades = dir.grades().exists();
    if let Ok(grades) = read_grades(&dir.grades()) {
        return known(dir, grades.prompts.unwrap_or_default()).map(Some);
    }
    if let Some(versions) = of_baseline(dir) {
        return Ok(Some(versions));
    }
    let made_here = has_grades
        || !record.targets.is_empty()
        || (has_rows(dir) && ImportRecord::read(dir)?.is_none());
    Ok(made_here.then_some(PromptVersions::FIRST))
}

fn known(dir: &BenchmarkDir, versions: PromptVersions) -> Result<PromptVersions, RunError> {
    versions.known().map_err(|unknown| {
        RunError::input(format!(
            "{}: {unknown}. It was measured by a newer version of Probity; run it with that version, or pass {} to \
             measure it again with the prompts of this one",
            dir.name(),
            ProgramFlag::new("prompts").value("latest")
        ))
    })
}

/// The released versions whose judge prompts judged the rows of the baseline.
fn of_baseline(dir: &BenchmarkDir) -> Option<PromptVersions> {
    let baseline = read_baseline(&dir.baseline()).ok()?;
    let judge = baseline
        .targets
        .values()
        .find(|target| !target.judge.is_empty())
        .map(|target| target.judge.get(PROMPT_VERSION).and_then(Value::as_u64))?
        .unwrap_or(1);
    let mut released = PromptVersions::RELEASED.iter();
    let found = released.find(|versions| u64::from(versions.judge) == judge);
    Some(found.copied().unwrap_or_default())
}

/// Whether a target has conversations or scores.
fn has_rows(dir: &BenchmarkDir) -> bool {
    let folders = fs::read_dir(dir.runs()).into_iter().flatten().flatten();
    folders
        .map(|folder| TargetDir::at(folder.path()))
        .any(|files| files.conversations().exists() || files.scores().exists())
}
