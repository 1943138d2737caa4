//! The rules of aggregated files: `results.json`, `grades.json` and standards.

use aggregator::StandardsError;
use schema::{Benchmark, Grades, StandardsFile, Summary, safety::results::SafetyResults};
use serde_json::Value;
use store::WrongValue;

use super::{BenchmarkFacts, Once, wrong_values};
use crate::{Finding, checker::Found};

/// Checks the rows of `results.json` one after the other.
pub(crate) struct ResultRules<'f> {
    facts: &'f BenchmarkFacts,
    seen: Once,
}

impl<'f> ResultRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            facts,
            seen: Once::default(),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let Some(id) = row.get("target_model").and_then(Value::as_str) else {
            return Vec::new();
        };
        if let Some(first) = self.seen.take(id, line) {
            return vec![Found::problem(
                "/target_model",
                format!("{id:?} is in line {first} already"),
            )];
        }
        let Some(summaries) = &self.facts.summaries else {
            return Vec::new();
        };
        match summaries.get(id) {
            Some(summary) => differences(row, summary, self.facts),
            None if self.facts.unread.contains(id) => Vec::new(),
            None => vec![
                Found::problem("/target_model", format!("no scores of {id:?} under runs/"))
                    .with_help(self.facts.aggregate("results.json")),
            ],
        }
    }

    /// Systems under test with scores but without a row.
    pub(crate) fn finish(self) -> Vec<Finding> {
        let help = self.facts.aggregate("results.json");
        let ids = self.seen.into_ids();
        let summaries = self.facts.summaries.iter().flatten();
        summaries
            .filter(|(id, _)| !ids.contains(*id))
            .map(|(id, _)| {
                let reason = format!("{id:?} has scores and no row here");
                Finding::problem("", reason).with_help(help.clone())
            })
            .collect()
    }
}

fn differences(row: &Value, summary: &Summary, facts: &BenchmarkFacts) -> Vec<Found> {
    let Ok(Value::Object(ours)) = serde_json::to_value(summary) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, wanted) in &ours {
        let theirs = row.get(key).unwrap_or(&Value::Null);
        if is_same(theirs, wanted) {
            continue;
        }
        let reason = match wanted {
            Value::Object(_) => "does not fit the scores".to_owned(),
            wanted => format!("is {theirs}, but the scores give {wanted}"),
        };
        let pointer = format!("/{key}");
        let problem = match row.get(key) {
            Some(_) => Found::problem(pointer, reason).at_key(),
            None => Found::problem("", format!("`{key}` {reason}")),
        };
        found.push(problem.with_help(facts.aggregate("results.json")));
    }
    found
}

/// Compares values: `1` equals `1.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, value)| {
                one.get(key)
                    .is_some_and(|theirs: &Value| is_same(theirs, value))
            };
            one.len() == other.len() && other.iter().all(same)
        }
        (one, other) => one == other,
    }
}

/// Checks that `grades.json`, whose content is `value`, belongs to this benchmark.
pub(crate) fn grades(grades: &Grades, value: &Value, facts: &BenchmarkFacts) -> Vec<Found> {
    let (Some(benchmark), Some(folder)) = (&facts.benchmark, &facts.folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let uid = benchmark.uid_or(folder);
    if grades.benchmark.uid != uid {
        let reason = format!(
            "these are the grades of {:?}, and the benchmark is {uid:?}",
            grades.benchmark.uid
        );
        let problem = Found::problem("/benchmark/uid", reason);
        found.push(problem.with_help(facts.aggregate("grades.json")));
    }
    let known: Vec<&str> = facts
        .summaries
        .iter()
        .flatten()
        .map(|(id, _)| id.as_str())
        .collect();
    for (number, score) in grades.scores.iter().enumerate() {
        let sut = score.sut.as_str();
        if facts.summaries.is_some() && !known.contains(&sut) && !facts.unread.contains(sut) {
            let problem = Found::problem(
                format!("/scores/{number}/sut"),
                format!("no scores of {sut:?} under runs/"),
            );
            found.push(problem.with_help(facts.aggregate("grades.json")));
        }
    }
    found.extend(wrong_grades(grades, value, benchmark, facts));
    found
}

/// The scores and grades that are not those of the rows. Of an entry that was computed from other rows, all numbers may differ, which needs
/// no further word.
fn wrong_grades(
    grades: &Grades,
    value: &Value,
    benchmark: &Benchmark,
    facts: &BenchmarkFacts,
) -> Vec<Found> {
    let Some(dir) = &facts.dir else {
        return Vec::new();
    };
    // Scenarios that cannot be read are reported where they are.
    let entries = store::wrong_grades(dir, benchmark, grades, Some(value)).unwrap_or_default();
    let (other, edited): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| entry.is_of_other_scores);
    let mut found: Vec<Found> = other
        .iter()
        .map(|entry| {
            let sut = entry.now.sut.as_str();
            let reason = format!("{sut:?} was graded by other scores than scores.json has");
            Found::problem(format!("/scores/{}", entry.number), reason)
        })
        .collect();
    let edited: Vec<WrongValue> = edited.into_iter().flat_map(|entry| entry.wrong).collect();
    found.extend(wrong_values(&edited));
    let help = facts.aggregate("grades.json");
    let with_help = |found: Found| found.with_help(help.clone());
    found.into_iter().map(with_help).collect()
}

/// Checks the rates of a safety evaluation against its conversations and errors. `value` is the file.
pub(crate) fn safety_rates(results: &SafetyResults, value: &Value) -> Vec<Found> {
    let Some(details) = results.details() else {
        return Vec::new();
    };
    let place = match value.get("data") {
        Some(_) => "/data/probity/rates",
        None => "/probity/rates",
    };
    let wrong: Vec<WrongValue> = store::wrong_safety_rates(details)
        .into_iter()
        .map(|wrong| wrong.below(place))
        .collect();
    wrong_values(&wrong)
}

/// Checks that standards match the benchmark in the same folder.
pub(crate) fn standards(file: &StandardsFile, facts: &BenchmarkFacts) -> Vec<Found> {
    let mut found = Vec::new();
    for (hazard, value) in &file.standards.reference_standards {
        if !(0.0..=1.0).contains(value) {
            let at = located::pointer::key("/standards/reference_standards", hazard);
            found.push(Found::problem(
                at,
                format!("the reference is {value}; it must be from 0 to 1"),
            ));
        }
    }
    if let (Some(benchmark), Some(folder), true) =
        (&facts.benchmark, &facts.folder, found.is_empty())
    {
        let uid = benchmark.uid_or(folder);
        let hazards = benchmark.scored_hazards();
        if let Err(error) = aggregator::check_standards(&file.standards, &uid, &hazards) {
            found.push(standards_error("/standards", &error, facts));
        }
    }
    found
}

/// Why standards cannot be read or used.
pub(crate) fn standards_error(
    pointer: &str,
    error: &StandardsError,
    facts: &BenchmarkFacts,
) -> Found {
    let dir = facts.dir.as_ref();
    let help = dir.and_then(|dir| store::standards_help(error, dir, Some(&dir.standards())));
    Found::problem(pointer, error.to_string()).with_help(help)
}
