//! Files with a single JSON object.

use std::path::Path;

use located::json;
use schema::safety::results::SafetyFile;
use serde_json::Value;

use super::{check_value, text};
use crate::{
    FileReport, Finding, Kind, Options, SourceLocation,
    checker::{CheckedText, Checker, Found},
    rules::{self, BenchmarkFacts},
};

/// Checks the file as a whole.
pub(super) fn check(
    path: &Path,
    kind: Kind,
    options: &Options<'_>,
    report: &mut FileReport,
    facts: &mut BenchmarkFacts,
) {
    report.rows = 1;
    let Some(text) = text(path, report) else {
        return;
    };
    // Safety files of other programs may begin with a byte order mark, which their reader accepts.
    let is_safety = matches!(kind, Kind::SafetySingleTurn | Kind::SafetyMultiTurn);
    let body = match text.strip_prefix('\u{feff}') {
        Some(rest) if is_safety => rest,
        Some(_) => {
            let reason = "the file begins with a byte order mark, which JSON does not allow. Save it as UTF-8 without one";
            report.push(Finding::problem("", reason).at(Some(SourceLocation::START)));
            return;
        }
        None => &text,
    };
    let (value, twice) = match json::parse(body.as_bytes()) {
        Ok(parsed) => parsed,
        Err(error) => {
            report.push(Finding::problem("", error.of_file()).at(Some(error.place)));
            return;
        }
    };
    let source = CheckedText::Json {
        text: body.as_bytes(),
        at: SourceLocation::START,
    };
    // The rules do not apply to an unsupported version.
    if let Some(found) = rules::check_version(kind, &value) {
        let is_problem = found.severity == crate::Severity::Problem;
        report.extend(crate::checker::placed(vec![found], None, &source));
        if is_problem {
            return;
        }
    }
    let checker = Checker::with_options(kind, options);
    let more = || more(kind, path, body, &value, facts);
    report.extend(check_value(&checker, &value, twice, None, &source, more));
}

/// The errors by types and rules, if the schema matches.
fn more(kind: Kind, path: &Path, text: &str, value: &Value, facts: &BenchmarkFacts) -> Vec<Found> {
    match kind {
        Kind::Statistics => typed::<schema::statistics::Statistics>(value, |statistics| {
            rules::statistics(&statistics, facts)
        }),
        Kind::Segments => typed::<store::SegmentIndex>(value, |index| {
            let fault = index.fault();
            fault
                .map(|fault| Found::problem("", fault))
                .into_iter()
                .collect()
        }),
        Kind::Sequence => typed::<schema::sequence::Sequence>(value, |_| Vec::new()),
        Kind::Shard => typed::<schema::ShardFile>(value, |file| match file.is_valid() {
            true => Vec::new(),
            false => vec![Found::problem(
                "/parts",
                "must be numbers from 1 to `of`, in ascending order",
            )],
        }),
        Kind::Baseline => {
            typed::<schema::Baseline>(value, |baseline| rules::baseline(&baseline, facts))
        }
        Kind::Grades => {
            typed::<schema::Grades>(value, |grades| rules::grades(&grades, value, facts))
        }
        Kind::EeeLog => rules::eee_log(path, value),
        Kind::Record => typed::<schema::Record>(value, |_| Vec::new()),
        Kind::Standards => match aggregator::read_standards(text.as_bytes()) {
            Ok(file) => rules::standards(&file, facts),
            Err(error) => vec![rules::standards_error("", &error, facts)],
        },
        Kind::Cost => typed::<store::CostFile>(value, |costs| {
            let other = costs.iter().filter(|(name, entry)| **name != entry.phase);
            other
                .map(|(name, entry)| {
                    let at = located::pointer::key(&located::pointer::key("", name), "phase");
                    Found::problem(
                        at,
                        format!("the entry of {name:?} says that it is {:?}", entry.phase),
                    )
                })
                .collect()
        }),
        Kind::SafetySingleTurn | Kind::SafetyMultiTurn => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match SafetyFile::read(&name, text) {
                Ok(file) => rules::safety_rates(&file.results, value),
                Err(error) => vec![Found::problem("", error.reason())],
            }
        }
        _ => Vec::new(),
    }
}

fn typed<T: serde::de::DeserializeOwned>(
    value: &Value,
    rules: impl FnOnce(T) -> Vec<Found>,
) -> Vec<Found> {
    match T::deserialize(value) {
        Ok(typed) => rules(typed),
        Err(error) => vec![Found::problem("", error.to_string())],
    }
}
