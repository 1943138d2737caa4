//! Every reference journal is read as typed events, and nothing of it is lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use journal::{JournalReader, Line};
use schema::{Event, EventBody};
use serde_json::{Map, Value};

/// The journals of `fixtures/journal`.
fn journals(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            journals(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            found.push(path);
        }
    }
}

/// The keys that every line may have.
const LINE_KEYS: [&str; 7] = [
    "timestamp",
    "message",
    "class",
    "method",
    "test",
    "prompt_id",
    "sut",
];

/// Messages of ModelBench alone.
const UNKNOWN: &[&str] = &["overrode item annotation"];

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

/// Whether `read` has all that is in `written`. An absent key is null.
fn holds(read: &Value, written: &Value) -> bool {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => written
            .iter()
            .all(|(key, value)| holds(read.get(key).unwrap_or(&Value::Null), value)),
        (Value::Array(read), Value::Array(written)) => {
            read.len() == written.len() && read.iter().zip(written).all(|(a, b)| holds(a, b))
        }
        (Value::Number(read), Value::Number(written)) => read.as_f64() == written.as_f64(),
        (read, written) => read == written,
    }
}

/// Asserts that the event written again has what `line` has, and nothing else.
fn assert_written_again(line: &Map<String, Value>, body: EventBody, at: &str) {
    let written = object(serde_json::to_value(Event::new(body)).unwrap());
    for (key, value) in &written {
        if !LINE_KEYS.contains(&key.as_str()) {
            let read = line.get(key).unwrap_or(&Value::Null);
            assert!(holds(read, value), "{at}: {key}: {value} of {read}");
        }
    }
}

/// Asserts that `line` keeps every key of `text`, those that no type has among them.
fn assert_kept(text: &Map<String, Value>, line: &Line<'_>, at: &str) {
    let entry = line.to_entry().unwrap();
    let named = [
        Some(entry.message),
        entry.timestamp,
        entry.class,
        entry.method,
        entry.test,
        entry.prompt_id,
        entry.sut,
    ];
    let named = named.into_iter().flatten().count();
    assert_eq!(named + entry.fields.len(), text.len(), "{at}");
    for (key, value) in &entry.fields {
        assert_eq!(text.get(key), Some(value), "{at}: {key}");
    }
}

#[test]
fn every_line_of_every_reference_journal_is_a_typed_event() {
    let mut paths = Vec::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal");
    journals(&fixtures, &mut paths);
    assert!(paths.len() >= 18, "{paths:?}");
    for path in paths {
        let texts = fs::read_to_string(&path).unwrap();
        let mut texts = texts.lines();
        let mut reader = JournalReader::open(&path).unwrap();
        while let Some(line) = reader.next_line() {
            let line = line.unwrap();
            let at = format!("{}: line {}", path.display(), line.number);
            let text = object(serde_json::from_str(texts.next().unwrap()).unwrap());
            assert_kept(&text, &line, &at);
            match line.event() {
                Some(event) => {
                    let body = event.unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_written_again(&text, body, &at);
                }
                None => assert!(UNKNOWN.contains(&&*line.message), "{at}: {}", line.message),
            }
        }
    }
}

#[test]
fn unknown_messages_and_fields_survive() {
    let text = br#"{"message":"weather observed","sut":"s","wind":{"n":1.10}}"#;
    let line = Line::parse(text).unwrap();
    assert!(line.event().is_none());
    assert_eq!(line.raw("wind").unwrap().get(), r#"{"n":1.10}"#);

    let text = br#"{"message":"finished run","run_id":"r","wind":{"n":1.10}}"#;
    let line = Line::parse(text).unwrap();
    assert!(matches!(line.event(), Some(Ok(EventBody::FinishedRun(run))) if run.run_id == "r"));
    assert_eq!(line.raw("wind").unwrap().get(), r#"{"n":1.10}"#);
    let entry = line.to_entry().unwrap();
    let keys: Vec<&str> = entry.fields.keys().map(String::as_str).collect();
    assert_eq!(keys, ["run_id", "wind"]);
}
