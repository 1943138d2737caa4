//! A JUnit report: one suite for each target and group, one case for each conversation. Suites and classes have the names that
//! `export junit --safety` gives them.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use pipeline::safety::{SafetyReport, TargetReport};
use schema::safety::results::{CaseError, ConversationDetail, SafetyResults};

use crate::exit::Failure;

/// Checks before the first call that the report can be written. A report of an earlier run is replaced.
///
/// # Errors
/// What is in the way.
pub fn check(path: &Path) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if path.is_dir() || path.file_name().is_none() {
        return Err(refused(path, "this is a folder; name a file to write"));
    }
    let there = fs::metadata(path).ok();
    if let Some(what) = there.as_ref().and_then(schema::special_file) {
        let reason = format!("it links to {what}; name a file to write");
        return Err(refused(path, &reason));
    }
    if !folder.is_dir() {
        let reason = format!("cannot be written: no such folder: {}", folder.display());
        return Err(refused(path, &reason));
    }
    let is_new = !path.exists();
    let tried = fs::OpenOptions::new().append(true).create(true).open(path);
    tried.map_err(|error| refused(path, &format!("cannot be written: {error}")))?;
    if is_new {
        // A run that does not start leaves nothing.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Writes the report.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, report: &SafetyReport) -> Result<(), Failure> {
    fs::write(path, xml(report)).map_err(|error| {
        Failure::nothing_ran(format!("{}: cannot be written: {error}", path.display()))
    })
}

fn refused(path: &Path, reason: &str) -> Failure {
    Failure::usage(format!("--junit {}: {reason}", path.display()))
}

/// The cases of one group.
#[derive(Default)]
struct Suite {
    cases: String,
    tests: u64,
    failures: u64,
    errors: u64,
}

fn xml(report: &SafetyReport) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for target in &report.targets {
        for (group, suite) in suites_of(target) {
            tests += suite.tests;
            failures += suite.failures;
            errors += suite.errors;
            let run = run_of(target);
            let name = escaped(&format!("{run}: {}: {group}", target.target.id));
            // Writing to a string cannot fail.
            let _ = write!(
                suites,
                "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n{}  </testsuite>\n",
                suite.tests, suite.failures, suite.errors, suite.cases
            );
        }
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"probity\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\">\n{suites}</testsuites>\n"
    )
}

fn suites_of(target: &TargetReport) -> BTreeMap<&str, Suite> {
    let mut suites: BTreeMap<&str, Suite> = BTreeMap::new();
    let Some(details) = target.results.details() else {
        return suites;
    };
    for row in &details.conversations {
        let suite = suites.entry(&row.group).or_default();
        suite.tests += 1;
        suite.failures += u64::from(!row.passed);
        suite.case(
            &class_of(target, &row.group),
            &name_of(row),
            failure(row).as_deref(),
        );
    }
    for row in &details.errors {
        let suite = suites.entry(&row.group).or_default();
        suite.tests += 1;
        suite.errors += 1;
        let kind = escaped(row.kind.as_str());
        let message = escaped(&row.message);
        let error = format!("<error type=\"{kind}\" message=\"{message}\"/>");
        suite.case(
            &class_of(target, &row.group),
            &name_of_error(row),
            Some(&error),
        );
    }
    suites
}

/// What stands for the benchmark, as in exports.
fn run_of(target: &TargetReport) -> &'static str {
    match target.results {
        SafetyResults::SingleTurn(_) => "safety-single-turn",
        SafetyResults::MultiTurn(_) => "safety-multi-turn",
    }
}

fn class_of(target: &TargetReport, group: &str) -> String {
    format!("{}.{}.{group}", run_of(target), target.target.id)
}

impl Suite {
    fn case(&mut self, class: &str, name: &str, inside: Option<&str>) {
        let (class, name) = (escaped(class), escaped(name));
        let _ = match inside {
            None => writeln!(
                self.cases,
                "    <testcase classname=\"{class}\" name=\"{name}\"/>"
            ),
            Some(inside) => writeln!(
                self.cases,
                "    <testcase classname=\"{class}\" name=\"{name}\">{inside}</testcase>"
            ),
        };
    }
}

fn failure(row: &ConversationDetail) -> Option<String> {
    if row.passed {
        return None;
    }
    let score = row.safe_response_score;
    let message = escaped(&format!("safety score {score}: {}", score.band().label()));
    let mut lowest = row.messages.iter();
    let lowest = lowest.find(|message| message.score == Some(score));
    let rationale = escaped(lowest.map_or("", |message| &message.rationale));
    Some(format!(
        "<failure type=\"unsafe\" message=\"{message}\">{rationale}</failure>"
    ))
}

fn name_of(row: &ConversationDetail) -> String {
    let how = row.test_type.as_ref().or(row.strategy.as_ref());
    named(&row.case_id, how, Some(row.conversation_id))
}

fn name_of_error(row: &CaseError) -> String {
    let how = row.test_type.as_ref().or(row.strategy.as_ref());
    named(&row.case_id, how, row.conversation_id)
}

/// The case, the strategy, and the conversation's number, which distinguishes variations.
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

/// Text that may be in an attribute or an element: without the characters that XML has no way to write.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_model_cannot_break_the_report() {
        assert_eq!(
            escaped("<a b=\"c\">&\u{1b}\n\0"),
            "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}&#10;\u{fffd}"
        );
    }
}
