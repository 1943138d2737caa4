//! Checks one file.

mod inspect;
mod lines;
mod objects;
mod rows;
mod texts;

use std::{fs, io, path::Path};

use crate::{
    FileReport, Finding, Kind, Options, SourceLocation,
    checker::{CheckedText, Checker, Found, placed},
    rules::BenchmarkFacts,
};

/// Checks a file of a known kind. Facts about it that other files need are added to `facts`.
pub(crate) fn check_file(
    path: &Path,
    kind: Kind,
    options: &Options<'_>,
    facts: &mut BenchmarkFacts,
) -> FileReport {
    let mut report = FileReport::new(path, kind, options.keep);
    if let Err(error) = is_file(path).and_then(|()| files::open(path)) {
        report.push(Finding::problem(
            "",
            format!("the file cannot be read: {error}"),
        ));
        return report;
    }
    match kind {
        _ if kind.is_rows() => rows::check(path, kind, &mut report, facts),
        Kind::Journal => lines::journal(path, &mut report),
        _ if kind.is_lines() => lines::json_lines(path, kind, &mut report),
        Kind::TestCases => texts::pack(path, &mut report),
        Kind::InspectLog => inspect::check(path, &mut report),
        Kind::Config if options.config.is_some() => {
            if let Some(read) = options.config {
                report.rows = 1;
                report.extend(read(path));
            }
        }
        Kind::Benchmark | Kind::Hazards | Kind::Gate | Kind::Config => {
            texts::tree(path, kind, &mut report, facts);
        }
        _ => objects::check(path, kind, options, &mut report, facts),
    }
    report
}

fn is_file(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    match files::special_file(&metadata) {
        Some(what) => Err(io::Error::other(format!("not a file, but {what}"))),
        None if metadata.is_dir() => Err(io::Error::other("it is a folder")),
        None => Ok(()),
    }
}

/// The text of a whole file. An error in reading it is added to the report.
fn text(path: &Path, report: &mut FileReport) -> Option<String> {
    let bytes = match files::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            report.push(Finding::problem(
                "",
                format!("the file cannot be read: {error}"),
            ));
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.trim_start_matches('\u{feff}').trim().is_empty() => {
            report.push(Finding::problem("", "the file is empty"));
            None
        }
        Ok(text) => Some(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let place =
                located::json::LineIndex::new(error.as_bytes(), SourceLocation::START).place(valid);
            let binary = error.as_bytes().iter().take(512).any(|byte| *byte == 0);
            report.push(
                Finding::problem(
                    "",
                    match binary {
                        true => "binary data, not text",
                        false => "not UTF-8 text",
                    },
                )
                .at(Some(place)),
            );
            None
        }
    }
}

/// Checks one value: duplicate keys, the schema, and, if the schema matches, `more`.
fn check_value(
    checker: &Checker,
    value: &serde_json::Value,
    twice: Vec<String>,
    row: Option<u64>,
    source: &CheckedText<'_>,
    more: impl FnOnce() -> Vec<Found>,
) -> Vec<Finding> {
    let mut found: Vec<Found> = twice
        .into_iter()
        .map(|pointer| Found::problem(pointer, "duplicate key. Remove one of them").at_key())
        .collect();
    let wrongs = checker.wrongs(value);
    if wrongs.is_empty() {
        found.extend(more());
    } else {
        found.extend(wrongs.into_iter().map(Found::from));
    }
    placed(found, row, source)
}
