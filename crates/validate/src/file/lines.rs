//! Files with one JSON object per line.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    sync::{Arc, LazyLock},
};

use journal::{Entry, JournalReader};
use located::json;
use serde_json::{Map, Value};

use super::check_value;
use crate::{
    FileReport, Finding, Kind, SourceLocation,
    checker::{CheckedText, Checker, Compiled},
    rules, shapes,
};

/// The longest line, in MiB.
const LONGEST_MIB: u64 = 256;

/// A run journal: the form of its lines, as its reader parses them, and the fields of known messages.
pub(super) fn journal(path: &Path, report: &mut FileReport) {
    let mut reader = match JournalReader::open(path) {
        Ok(reader) => reader,
        Err(error) if error.is_empty() => {
            let reason =
                "the journal is empty: the run was killed before its first line, or has just begun";
            report.push(Finding::note("", reason));
            return;
        }
        Err(error) => {
            report.push(read_error(&error));
            return;
        }
    };
    for entry in &mut reader {
        report.rows += 1;
        match entry {
            Err(error) => report.push(read_error(&error)),
            Ok(entry) => {
                let line = entry.line;
                let Some(checker) = of_message(&entry.message) else {
                    continue;
                };
                for wrong in checker.wrongs(&object(entry)) {
                    let key = located::pointer::shown(None, &wrong.pointer);
                    report.push(Finding::problem(key, wrong.reason).at_line(Some(line)));
                }
            }
        }
    }
    if let Some(cut_off) = reader.cut_off() {
        let reason = "the journal is cut off here: the run was killed, or is still running. Readers use the lines before it";
        report.push(Finding::note("", reason).at_line(Some(cut_off.line)));
    }
}

/// The checker of a message.
fn of_message(message: &str) -> Option<Arc<Checker>> {
    static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(shapes::messages);
    static CHECKERS: Compiled<&'static str> = Compiled::new();
    let (message, schema) = SCHEMAS.get_key_value(message)?;
    Some(CHECKERS.get(message, || schema.clone()))
}

fn read_error(error: &journal::ReadError) -> Finding {
    Finding::problem("", error.reason()).at_line(error.line())
}

/// The line as an object.
fn object(entry: Entry) -> Value {
    let mut object = Map::new();
    object.insert("message".to_owned(), entry.message.into());
    for (key, text) in [
        ("timestamp", entry.timestamp),
        ("class", entry.class),
        ("method", entry.method),
        ("test", entry.test),
        ("prompt_id", entry.prompt_id),
        ("sut", entry.sut),
    ] {
        object.extend(text.map(|text| (key.to_owned(), text.into())));
    }
    object.extend(entry.fields);
    Value::Object(object)
}

/// An export.
pub(super) fn json_lines(path: &Path, kind: Kind, report: &mut FileReport) {
    let Ok(file) = files::open(path) else {
        return;
    };
    let input = BufReader::with_capacity(1 << 16, file);
    each_line(input, LONGEST_MIB, &Checker::new(kind), report);
    if kind == Kind::EeeSamples {
        let found = rules::eee_samples(path);
        report.extend(found.into_iter().map(|found| Finding {
            severity: found.severity,
            ..Finding::problem("", found.reason)
        }));
    }
}

/// Checks the lines of `input`, up to the first line that cannot be read or is longer than the limit in MiB.
fn each_line(
    mut input: impl BufRead,
    longest_mib: u64,
    checker: &Checker,
    report: &mut FileReport,
) {
    let longest = longest_mib * 1024 * 1024;
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        line.shrink_to(1 << 20);
        number += 1;
        // One additional byte shows whether the line is too long.
        let read = (&mut input).take(longest + 1).read_until(b'\n', &mut line);
        let at = SourceLocation {
            line: number,
            column: 1,
        };
        match read {
            Err(error) => {
                let reason = format!("reading stopped here: {error}");
                report.push(Finding::problem("", reason).at(Some(at)));
                return;
            }
            Ok(0) => {
                if number == 1 {
                    report.push(Finding::problem("", "the file is empty"));
                }
                return;
            }
            Ok(read) if read as u64 > longest && !line.ends_with(b"\n") => {
                let reason = format!(
                    "the line is longer than {longest_mib} MiB, which is the limit. It and the lines after it were not checked"
                );
                report.push(Finding::problem("", reason).at(Some(at)));
                return;
            }
            Ok(_) => {
                report.rows += 1;
                report.extend(check_line(checker, &line, at));
            }
        }
    }
}

fn check_line(checker: &Checker, line: &[u8], at: SourceLocation) -> Vec<Finding> {
    if line.trim_ascii().is_empty() {
        return vec![Finding::problem("", "the line is blank").at(Some(at))];
    }
    match json::parse(line) {
        Err(error) => {
            let place = SourceLocation {
                line: at.line,
                column: error.place.column,
            };
            let reason = match error.is_cut {
                true => "the line ends in the middle of its object: it was cut off".to_owned(),
                false => format!("invalid JSON: {}", error.reason),
            };
            vec![Finding::problem("", reason).at(Some(place))]
        }
        Ok((value, twice)) => {
            let source = CheckedText::Json { text: line, at };
            check_value(checker, &value, twice, None, &source, Vec::new)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_reported_and_not_read_as_several() {
        let checker = Checker::of(serde_json::json!({"type": "object"}));
        let of_length = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
        let most = 1024 * 1024;
        for (length, end, rows, problems) in [
            (most, "\n{}\n", 3, 0),
            (most, "", 2, 0),
            (most + 1, "\n{}\n", 1, 1),
            (3 * most, "\n{}\n", 1, 1),
            (3 * most, "", 1, 1),
        ] {
            let text = format!("{{}}\n{}{end}", of_length(length));
            let mut report = FileReport::new(Path::new("a.jsonl"), Kind::ExportScores, 10);
            each_line(text.as_bytes(), 1, &checker, &mut report);
            assert_eq!(report.rows, rows, "{length}: {:?}", report.findings);
            assert_eq!(report.findings.len(), problems, "{:?}", report.findings);
            for finding in &report.findings {
                assert!(finding.reason.contains("longer than 1 MiB"));
                assert_eq!((finding.line, finding.column), (Some(2), Some(1)));
            }
        }
    }
}
