//! `grades.json`, and the scores that it is computed from.

use std::path::Path;

use aggregator::statistics::support_grades;
use located::pointer;
use schema::{
    Benchmark, BenchmarkRef, BenchmarkScore, Extra, Grades, PromptVersions, Standards,
    statistics::Statistics,
};
use serde_json::{Value, json};

use super::{LoadedStandards, write_json};
use crate::{
    BenchmarkDir, RunError, WrongValue, proof::wrong_values, provenance::Provenance,
    read_scenario_index,
};

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
    let format = match scores.iter().any(|score| score.stopped_early) {
        true => Grades::SEQUENTIAL_FORMAT,
        false => Grades::FORMAT,
    };
    let grades = Grades {
        format: format.to_owned(),
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

/// An entry of a `grades.json` that the rows do not give.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongGrades {
    /// The place of the entry.
    pub number: usize,
    /// What the rows give.
    pub now: BenchmarkScore,
    /// Whether the entry was computed from other rows, which its digest says.
    pub is_of_other_scores: bool,
    /// The values that differ, with pointers into the file; the digest of its scores is the last one.
    pub wrong: Vec<WrongValue>,
}

/// The entries of a `grades.json` that differ from what the rows of the tree give now. With `raw`, the content of the file, words are compared
/// that [`Grades`] does not keep: it has the letter and the name of a grade from its number. The references are those in the file. Targets whose
/// scores cannot be read are left out, and so are files of earlier formats, whose intervals were others.
///
/// # Errors
/// As [`read_scenario_index`].
pub fn wrong_grades(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    written: &Grades,
    raw: Option<&Value>,
) -> Result<Vec<WrongGrades>, RunError> {
    let mut found = Vec::new();
    if ![Grades::FORMAT, Grades::SEQUENTIAL_FORMAT].contains(&written.format.as_str()) {
        return Ok(found);
    }
    let index = read_scenario_index(dir)?;
    for (number, score) in written.scores.iter().enumerate() {
        let Ok(facts) = dir.facts(benchmark, &score.sut) else {
            continue;
        };
        let mut now = facts.score(references(written, score).as_ref());
        let statistics = facts.rows.statistics(&index, &benchmark.scored_hazards());
        support_grades(&mut now, &statistics);
        let place = format!("/scores/{number}");
        let values = match raw.and_then(|file| file.pointer(&place)) {
            Some(raw) => wrong_values(raw, &now, true),
            None => wrong_values(score, &now, true),
        };
        let mut wrong: Vec<WrongValue> = values
            .into_iter()
            .map(|value| value.below(&place))
            .collect();
        let digest = written.scores_sha256.get(&score.sut);
        if digest != Some(&facts.scores_sha256) {
            wrong.push(WrongValue {
                pointer: pointer::key("/scores_sha256", score.sut.as_str()),
                written: json!(digest),
                computed: json!(facts.scores_sha256),
            });
        }
        if !wrong.is_empty() {
            found.push(WrongGrades {
                number,
                now,
                is_of_other_scores: digest.is_some_and(|of| *of != facts.scores_sha256),
                wrong,
            });
        }
    }
    Ok(found)
}

/// The standards that an entry was graded by, as far as it has them.
fn references(written: &Grades, score: &BenchmarkScore) -> Option<Standards> {
    let of = written.standards.as_ref()?;
    let hazards = score.hazards.iter();
    Some(Standards {
        reference_suts: of.reference_suts.clone(),
        reference_benchmark: of.reference_benchmark.clone(),
        reference_standards: hazards
            .filter_map(|hazard| Some((hazard.hazard.clone(), hazard.reference?)))
            .collect(),
        extra: Extra::new(),
    })
}
