//! Files of one JSON object a line.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use journal::{Entry, JournalReader};
use serde_json::{Map, Value};

use super::check_value;
use crate::{
    FileReport, Finding, Kind, Place,
    checker::{Checker, Source},
    json, shapes,
};

/// The longest line that is read.
const LONGEST: u64 = 256 * 1024 * 1024;

/// A run journal: the form of its lines, as its reader sees it, and the fields of the messages that are known.
pub(super) fn journal(path: &Path, report: &mut FileReport) {
    let name = path.display().to_string();
    let mut reader = match JournalReader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            report.push(read_error(&name, &error));
            return;
        }
    };
    let mut checkers = Checkers {
        schemas: shapes::messages(),
        ready: HashMap::new(),
    };
    for entry in &mut reader {
        report.rows += 1;
        match entry {
            Err(error) => report.push(read_error(&name, &error)),
            Ok(entry) => {
                let line = entry.line;
                let Some(checker) = checkers.of(&entry.message) else {
                    continue;
                };
                for wrong in checker.wrongs(&object(entry)) {
                    let key = crate::pointer::shown(None, &wrong.pointer);
                    report.push(Finding::problem(key, wrong.reason).at_line(Some(line)));
                }
            }
        }
    }
    if let Some(tear) = reader.tear() {
        let reason = "the journal is cut off here: the run was killed, or goes on. Readers take it up to this line";
        report.push(Finding::note("", reason).at_line(Some(tear.line)));
    }
}

/// The schemas of messages. One is made ready when its first line comes.
struct Checkers {
    schemas: Map<String, Value>,
    ready: HashMap<String, Checker>,
}

impl Checkers {
    fn of(&mut self, message: &str) -> Option<&Checker> {
        if let Some(schema) = self.schemas.get_mut(message).map(Value::take)
            && !schema.is_null()
        {
            self.ready.insert(message.to_owned(), Checker::of(schema));
        }
        self.ready.get(message)
    }
}

fn read_error(name: &str, error: &journal::ReadError) -> Finding {
    let text = error.to_string();
    let reason = text.strip_prefix(name).unwrap_or(&text);
    let reason = match (error.line(), reason.split_once(": ")) {
        (Some(_), Some((_, reason))) => reason,
        _ => reason.trim_start_matches([':', ' ']),
    };
    Finding::problem("", reason).at_line(error.line())
}

/// The line's object again.
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
    let Ok(file) = File::open(path) else {
        return;
    };
    let checker = Checker::new(kind);
    let mut input = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = (&mut input).take(LONGEST).read_until(b'\n', &mut line);
        let at = Place {
            line: number,
            column: 1,
        };
        match read {
            Err(error) => {
                let reason = format!("the file cannot be read on: {error}");
                report.push(Finding::problem("", reason).at(Some(at)));
                return;
            }
            Ok(0) => {
                if number == 1 {
                    report.push(Finding::problem("", "the file is empty"));
                }
                return;
            }
            Ok(_) => {
                report.rows += 1;
                report.extend(check_line(&checker, &line, at));
            }
        }
    }
}

fn check_line(checker: &Checker, line: &[u8], at: Place) -> Vec<Finding> {
    if line.trim_ascii().is_empty() {
        return vec![Finding::problem("", "the line is blank").at(Some(at))];
    }
    match json::parse(line) {
        Err(error) => {
            let place = Place {
                line: at.line,
                column: error.place.column.max(1),
            };
            let reason = match error.is_cut {
                true => "the line ends in the middle of its object: it was cut off".to_owned(),
                false => format!("this is no valid JSON: {}", error.reason),
            };
            vec![Finding::problem("", reason).at(Some(place))]
        }
        Ok((value, twice)) => {
            let source = Source::Json { text: line, at };
            check_value(checker, &value, twice, None, &source, Vec::new)
        }
    }
}
