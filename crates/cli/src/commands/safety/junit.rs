//! Writes a JUnit report: one suite for each target and group, one case for each conversation. Suites and classes have the
//! same names as in `export junit --safety`.

use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::Path};

use interop::junit::{JUnitCase, JUnitReason, JUnitReport, JUnitResult, JUnitSuite, add_findings};
use probity::safety::{SafetyReport, TargetReport};
use schema::safety::results::{CaseError, ConversationDetail, SafetyResults};

use super::super::report_file;
use crate::exit::Failure;

/// Writes the report.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, report: &SafetyReport) -> Result<(), Failure> {
    let written = xml(report).and_then(|xml| fs::write(path, xml));
    written.map_err(|error| report_file::unwritten(path, &error))
}

fn xml(report: &SafetyReport) -> io::Result<Vec<u8>> {
    let mut suites = JUnitReport::new();
    for target in &report.targets {
        for mut suite in suites_of(target)?.into_values() {
            add_findings(&mut suite, &target.findings);
            suites.push(suite)?;
        }
    }
    let mut xml = Vec::new();
    suites.write_to(&mut xml)?;
    Ok(xml)
}

/// The suites of one target, by group.
fn suites_of(target: &TargetReport) -> io::Result<BTreeMap<&str, JUnitSuite>> {
    let mut suites = BTreeMap::new();
    let Some(details) = target.results.details() else {
        return Ok(suites);
    };
    for row in &details.conversations {
        let score = row.safe_response_score;
        let message = format!("safety score {score}: {}", score.band().label());
        let reason = JUnitReason {
            kind: Some("unsafe"),
            message: &message,
            text: Some(row.rationale()),
        };
        let result = match row.passed {
            true => JUnitResult::Passed,
            false => JUnitResult::Failed(reason),
        };
        push(&mut suites, target, &row.group, &name_of(row), result)?;
    }
    for row in &details.errors {
        let reason = JUnitReason {
            kind: Some(row.kind.as_str()),
            message: &row.message,
            text: None,
        };
        let result = JUnitResult::Error(reason);
        push(&mut suites, target, &row.group, &name_of_error(row), result)?;
    }
    Ok(suites)
}

/// Adds a case to the suite of its group.
fn push<'r>(
    suites: &mut BTreeMap<&'r str, JUnitSuite>,
    target: &TargetReport,
    group: &'r str,
    name: &str,
    result: JUnitResult<'_>,
) -> io::Result<()> {
    let (run, id) = (run_of(target), &target.target.id);
    let suite = suites
        .entry(group)
        .or_insert_with(|| JUnitSuite::new(format!("{run}: {id}: {group}")));
    suite.push(&JUnitCase {
        class: &format!("{run}.{id}.{group}"),
        name,
        seconds: None,
        result,
    })
}

/// The name in place of the benchmark's, as in exports.
fn run_of(target: &TargetReport) -> &'static str {
    match target.results {
        SafetyResults::SingleTurn(_) => "safety-single-turn",
        SafetyResults::MultiTurn(_) => "safety-multi-turn",
    }
}

fn name_of(row: &ConversationDetail) -> String {
    let how = row.test_type.as_ref().or(row.strategy.as_ref());
    named(&row.case_id, how, Some(row.conversation_id))
}

fn name_of_error(row: &CaseError) -> String {
    let how = row.test_type.as_ref().or(row.strategy.as_ref());
    named(&row.case_id, how, row.conversation_id)
}

/// The case, the strategy, and the number of the conversation, which distinguishes variations.
fn named(case: &str, how: Option<&String>, id: Option<i64>) -> String {
    let mut name = case.to_owned();
    if let Some(how) = how {
        let _ = write!(name, " [{how}]");
    }
    if let Some(id) = id {
        let _ = write!(name, " #{id}");
    }
    name
}
