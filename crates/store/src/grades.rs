//! `grades.json`, and the scores that it is computed from.

use std::{fs, path::Path};

use aggregator::statistics::support_grades;
use schema::{
    Benchmark, BenchmarkRef, BenchmarkScore, Grades, ModelId, PromptVersions,
    statistics::Statistics,
};

use super::{LoadedStandards, write_json};
use crate::{BenchmarkDir, RunError, TargetDir, provenance::Provenance};

/// The benchmark's description in grades and records.
pub(super) fn benchmark_ref(dir: &BenchmarkDir, benchmark: &Benchmark) -> BenchmarkRef {
    BenchmarkRef {
        uid: benchmark.uid_or(dir.name()),
        name: benchmark.name.clone(),
        version: benchmark.version.clone(),
        locale: benchmark.locale.clone(),
        hazards: benchmark.scored_hazards(),
    }
}

/// Writes `grades.json` of a benchmark: the scores, with the intervals of `statistics`, and without the grades that the rows do not
/// support.
pub fn write_grades(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    standards: Option<&LoadedStandards>,
    mut scores: Vec<BenchmarkScore>,
    statistics: &Statistics,
) -> Result<Grades, RunError> {
    for score in &mut scores {
        if let Some(target) = statistics.target(&score.sut) {
            support_grades(score, target);
        }
    }
    let grades = Grades {
        format: Grades::FORMAT.to_owned(),
        benchmark: benchmark_ref(dir, benchmark),
        prompts: Provenance::read(dir)
            .prompts
            .filter(|versions| *versions != PromptVersions::FIRST),
        standards: standards.map(LoadedStandards::as_ref),
        scores_sha256: statistics.scores_sha256(),
        scores,
    };
    write_json(&dir.grades(), &grades)?;
    Ok(grades)
}

/// Reads a `grades.json`.
///
/// # Errors
/// When the file cannot be read, is of another format, or is not a grades file.
pub fn read_grades(path: &Path) -> Result<Grades, RunError> {
    let text = files::read(path).map_err(|error| RunError::read(path, error))?;
    let bad = |what: String| RunError::input(format!("{}: {what}", path.display()));
    let grades: Grades = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("not a grades file: {error}")).with_source(error))?;
    if grades.format.split('.').next() == Grades::FORMAT.split('.').next() {
        return Ok(grades);
    }
    Err(bad(format!(
        "format is {:?}, and this version of Probity reads {}",
        grades.format,
        Grades::FORMAT
    ))
    .with_help("aggregate the scores again: that rewrites the file"))
}

/// The ids of the folders under `runs/` that hold scores, sorted.
pub fn scored_targets(dir: &BenchmarkDir) -> Result<Vec<ModelId>, RunError> {
    targets_that(dir, |files| files.scores().exists())
}

/// The ids of the folders under `runs/` that hold conversations, sorted.
pub fn simulated_targets(dir: &BenchmarkDir) -> Result<Vec<ModelId>, RunError> {
    targets_that(dir, |files| files.conversations().exists())
}

/// The ids of the folders under `runs/` that `is_wanted` accepts, sorted. Entries whose names cannot be target ids are skipped, such as
/// those that desktops leave behind.
fn targets_that(
    dir: &BenchmarkDir,
    is_wanted: impl Fn(&TargetDir) -> bool,
) -> Result<Vec<ModelId>, RunError> {
    let runs = dir.runs();
    let entries = match fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::read(&runs, error)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| RunError::read(&runs, error))?;
        let name = entry.file_name().into_string().ok();
        if let Some(id) = name.and_then(|name| ModelId::new(name).ok())
            && let Ok(files) = dir.target(&id)
            && is_wanted(&files)
        {
            ids.push(id);
        }
    }
    ids.sort();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn what_can_be_no_target_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Layout::new(folder.path()).benchmark("b").unwrap();
        for id in ["b", "a", " c", ".hidden", "nothing"] {
            fs::create_dir_all(dir.runs().join(id)).unwrap();
        }
        for id in ["b", "a", " c", ".hidden"] {
            fs::write(dir.runs().join(id).join("scores.json"), "[]").unwrap();
        }
        fs::write(dir.runs().join(".DS_Store"), "x").unwrap();
        let found = scored_targets(&dir).unwrap();
        let found: Vec<&str> = found.iter().map(ModelId::as_str).collect();
        assert_eq!(found, ["a", "b"]);
    }
}
