//! `grades.json`, and the scores that it is computed from.

use std::path::Path;

use aggregator::statistics::support_grades;
use schema::{
    Benchmark, BenchmarkRef, BenchmarkScore, Grades, PromptVersions, statistics::Statistics,
};

use super::{LoadedStandards, write_json};
use crate::{BenchmarkDir, RunError, provenance::Provenance};

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
