//! Journals of any origin, whole and broken.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
};

use journal::{Entry, JournalReader, ReadError};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/journal")
        .join(name)
}

fn reader(text: &[u8]) -> JournalReader<&[u8]> {
    JournalReader::new(text, "j.jsonl")
}

#[test]
fn journals_of_other_programs_are_read() {
    for (name, entries) in [
        ("real-modelbench-aborted.jsonl", 3),
        ("hand-pass-single-annotator.jsonl", 61),
        ("hand-ok-bare-minimum-fields.jsonl", 43),
    ] {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        let mut reader = JournalReader::open(&fixture(name)).unwrap();
        let read: Vec<Entry> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(reader.tear(), None);
        assert_eq!(read.len(), text.lines().count(), "{name}");
        assert_eq!(read.len(), entries, "{name}");
        assert_eq!(read.last().unwrap().line, read.len() as u64);
    }
}

#[test]
fn fields_are_told_apart_and_unknown_ones_kept() {
    let text = r#"{"timestamp": "2026-11-21T01:52:10.201273+00:00", "message": "never heard of", "class": "C", "method": "m", "test": ["not", "text"], "prompt_id": "p", "sut": "s", "turn": 2, "a": {"b": null}}
{"message": "bare"}"#;
    let entries: Vec<Entry> = reader(text.as_bytes()).collect::<Result<_, _>>().unwrap();
    let first = &entries[0];
    assert_eq!(first.message, "never heard of");
    assert_eq!(first.class.as_deref(), Some("C"));
    assert_eq!(first.method.as_deref(), Some("m"));
    assert_eq!(first.prompt_id.as_deref(), Some("p"));
    assert_eq!(first.sut.as_deref(), Some("s"));
    assert_eq!(first.test, None);
    let keys: Vec<&String> = first.fields.keys().collect();
    assert_eq!(keys, ["test", "turn", "a"]);
    let time = first.time().unwrap();
    assert_eq!(time.as_microsecond(), 1_795_225_930_201_273);
    assert_eq!(
        (entries[1].timestamp.as_deref(), entries[1].time()),
        (None, None)
    );
}

#[test]
fn a_torn_last_line_ends_the_entries_and_is_reported() {
    let whole = "{\"message\": \"a\"}\n{\"message\": \"b\", \"x\": \"é\"}\n";
    let first = whole.find('\n').unwrap() + 1;
    for length in first + 1..whole.len() - 2 {
        let mut reader = reader(&whole.as_bytes()[..length]);
        let entries: Vec<Entry> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(entries.len(), 1, "{length}");
        let tear = reader.tear().unwrap();
        assert_eq!((tear.line, tear.bytes), (2, (length - first) as u64));
    }
    // Only the line break is missing: the line is whole.
    let mut reader = reader(&whole.as_bytes()[..whole.len() - 1]);
    assert_eq!(reader.by_ref().count(), 2);
    assert_eq!(reader.tear(), None);
}

#[test]
fn a_tail_of_zeros_as_after_a_power_cut_is_a_tear() {
    let mut reader = reader(b"{\"message\": \"a\"}\n\0\0\0\0");
    assert_eq!(reader.by_ref().filter_map(Result::ok).count(), 1);
    let tear = reader.tear().unwrap().to_string();
    assert!(
        tear.starts_with("line 2 is cut off after 4 bytes"),
        "{tear}"
    );
}

#[test]
fn bad_lines_are_named_and_the_rest_is_read() {
    let text = b"{\"message\": \"a\"}\n{\"message\": \"b\n\n[1]\n{\"message\": 5}\n{\"message\": \"\xff\"}\n{} {}\n{\"message\": \"c\"}\r\n";
    let (mut errors, mut messages) = (Vec::new(), Vec::new());
    for entry in reader(text) {
        match entry {
            Ok(entry) => messages.push(format!("{} {}", entry.line, entry.message)),
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!(messages, ["1 a", "8 c"]);
    assert_eq!(
        errors,
        [
            "j.jsonl, line 2: not one JSON object: EOF while parsing a string, column 14",
            "j.jsonl, line 3: the line is blank, and every line of a journal holds one event",
            "j.jsonl, line 4: not one JSON object: invalid type: sequence, expected a map, column 0",
            "j.jsonl, line 5: the event has no `message` that is a text",
            "j.jsonl, line 6: not one JSON object: invalid unicode code point, column 14",
            "j.jsonl, line 7: not one JSON object: trailing characters, column 4",
        ]
    );
}

#[test]
fn a_line_of_ten_megabytes_is_read_and_its_memory_given_back() {
    let long = format!(
        "{{\"message\": \"long\", \"text\": \"{}\"}}\n",
        "x".repeat(10 << 20)
    );
    let text = format!("{long}{{\"message\": \"short\"}}\n");
    let entries: Vec<Entry> = reader(text.as_bytes()).collect::<Result<_, _>>().unwrap();
    assert_eq!(entries[0].fields["text"].as_str().unwrap().len(), 10 << 20);
    assert_eq!(entries[1].message, "short");
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let endless = BufReader::new(io::repeat(b'x'));
    let mut reader = JournalReader::new(endless, "endless");
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "endless, line 1: the line is longer than 256 MiB"
    );
    assert!(reader.next().is_none());
}

#[test]
fn a_failing_input_ends_the_reading() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let input = BufReader::new((&b"{\"message\": \"a\"}\n"[..]).chain(Fails));
    let mut reader = JournalReader::new(input, "j");
    assert!(reader.next().unwrap().is_ok());
    let error: ReadError = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "j, line 2: cannot read on: the disk is gone"
    );
    assert_eq!(error.line(), Some(2));
    assert!(reader.next().is_none());
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.jsonl");
    let error = JournalReader::open(&missing).unwrap_err().to_string();
    assert!(
        error.contains("missing.jsonl: cannot open the journal: "),
        "{error}"
    );
    let packed = dir.path().join("journal-x.jsonl.zst");
    let error = JournalReader::open(&packed).unwrap_err().to_string();
    assert!(
        error.contains("compressed journals are not supported"),
        "{error}"
    );
}

#[test]
fn an_empty_journal_has_no_entries() {
    let mut reader = reader(b"");
    assert!(reader.next().is_none());
    assert_eq!(reader.tear(), None);
    let mut none: &[u8] = b"";
    assert_eq!(none.read_until(b'\n', &mut Vec::new()).unwrap(), 0);
}
