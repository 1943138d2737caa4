//! Journals of any origin, whole and broken.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use std::{
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
};

use journal::{Entry, JournalReader, JournalSource, ReadError};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/journal/reference")
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
        assert_eq!(reader.cut_off(), None);
        assert_eq!(read.len(), text.lines().count(), "{name}");
        assert_eq!(read.len(), entries, "{name}");
        assert_eq!(read.last().unwrap().line, read.len() as u64);
    }
}

#[test]
fn fields_have_their_places_and_unknown_ones_are_kept() {
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
        let cut_off = reader.cut_off().unwrap();
        assert_eq!((cut_off.line, cut_off.bytes), (2, (length - first) as u64));
    }
    // Only the line break is missing: the line is whole.
    let mut reader = reader(&whole.as_bytes()[..whole.len() - 1]);
    assert_eq!(reader.by_ref().count(), 2);
    assert_eq!(reader.cut_off(), None);
}

#[test]
fn a_tail_of_zeros_as_after_a_power_cut_is_a_tear() {
    let mut reader = reader(b"{\"message\": \"a\"}\n\0\0\0\0");
    assert_eq!(reader.by_ref().filter_map(Result::ok).count(), 1);
    let cut_off = reader.cut_off().unwrap().to_string();
    assert!(
        cut_off.starts_with("line 2 is cut off after 4 bytes"),
        "{cut_off}"
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
            "j.jsonl, line 4: not one JSON object: invalid type: sequence, expected an object, column 0",
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
    let endless = BufReader::new((&b"{"[..]).chain(io::repeat(b'x')));
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
    let open = |name: &str| {
        JournalReader::open(&dir.path().join(name))
            .unwrap_err()
            .to_string()
    };
    std::fs::write(dir.path().join("empty.jsonl"), "").unwrap();
    assert!(open("empty.jsonl").ends_with("empty.jsonl: the file is empty"));
    assert!(open(".").contains("this is a folder"));
}

/// What reading a file that is no journal says.
fn refusal(bytes: &[u8]) -> String {
    let mut reader = reader(bytes);
    let error = reader.next().unwrap().unwrap_err();
    assert!(reader.next().is_none(), "{error}");
    error.to_string()
}

#[test]
fn files_that_are_no_journals_are_refused_at_once() {
    let binary = "j.jsonl, line 1: this is no journal: it holds binary data. A journal is text with one JSON object a line, \
                  or such a text compressed with zstd";
    assert_eq!(refusal(b"\x7fELF\x02\x01\x01\0\0\0\n{}\n"), binary);
    assert_eq!(refusal(b"\x1f\x8b\x08\x08\n"), binary);
    for (text, what) in [
        (
            &b"hello\nworld\n"[..],
            "it is not one JSON object: expected value, column 1",
        ),
        (
            b"hello",
            "it is not one JSON object: expected value, column 1",
        ),
        (
            b"{\n  \"a\": 1\n}\n",
            "it is not one JSON object: EOF while parsing an object, column 1",
        ),
        (b"{\"a\": 1}\n", "the event has no `message` that is a text"),
        (
            b"[]",
            "it is not one JSON object: invalid type: sequence, expected an object, column 0",
        ),
    ] {
        let expected = format!(
            "j.jsonl, line 1: this is no journal: its first line should be an event, but {what}"
        );
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn what_is_no_journal_is_not_read_to_its_end() {
    // One line of 64 MiB, which the reader must not gather.
    for byte in [0, b'x', 0xff] {
        let mut input = BufReader::new(io::repeat(byte).take(64 * 1024 * 1024));
        let mut reader = JournalReader::new(&mut input, "j.jsonl");
        let error = reader.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("line 1: this is no journal"), "{error}");
        assert!(reader.next().is_none());
        assert_eq!(reader.cut_off(), None);
        assert!(input.into_inner().limit() > 63 * 1024 * 1024);
    }
}

#[test]
fn journals_of_a_later_generation_are_refused() {
    let text = |version: &str| {
        format!("{{\"message\": \"starting journal\", \"format_version\": {version}}}\n")
    };
    for version in ["\"2.0.0\"", "3"] {
        let error = refusal(text(version).as_bytes());
        let expected = format!(
            "the journal has format version {}, and this program reads 1.5.0",
            version.trim_matches('"')
        );
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(
        reader(text("\"1.7.0\"").as_bytes())
            .filter_map(Result::ok)
            .count(),
        1
    );
}

fn packed(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

fn unpacking(bytes: &[u8]) -> JournalReader<JournalSource> {
    JournalReader::new(
        JournalSource::new(io::Cursor::new(bytes.to_vec())).unwrap(),
        "j",
    )
}

#[test]
fn compressed_journals_are_known_by_their_content() {
    let text = std::fs::read(fixture("real-modelbench.jsonl")).unwrap();
    let plain: Vec<Entry> = reader(&text).collect::<Result<_, _>>().unwrap();
    let (half, rest) = text.split_at(text.len() / 2);
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    // One frame, frames that end within a line, one that is skipped, an empty one.
    let frames = [packed(half), skippable.to_vec(), packed(b""), packed(rest)].concat();
    for bytes in [packed(&text), frames] {
        let mut reader = unpacking(&bytes);
        let read: Vec<Entry> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, plain);
        assert_eq!(reader.cut_off(), None);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(JournalReader::open(&path).unwrap().count(), plain.len());
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl.zst");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(JournalReader::open(&path).unwrap().count(), plain.len());
}

#[test]
fn frames_of_any_length_are_whole() {
    // Around the lengths in which a frame is unpacked.
    for length in [1 << 17, 1 << 18, 1 << 19, 1 << 20] {
        for length in length - 2..=length + 2 {
            let text = format!("{{\"message\": \"{}\"}}\n", "x".repeat(length - 16));
            assert_eq!(text.len(), length);
            for frames in [
                packed(text.as_bytes()),
                [packed(text.as_bytes()), packed(text.as_bytes())].concat(),
            ] {
                let mut reader = unpacking(&frames);
                assert!(
                    reader
                        .by_ref()
                        .all(|entry| entry.unwrap().message.len() == length - 16)
                );
                assert_eq!(reader.cut_off(), None, "{length}");
            }
        }
    }
}

#[test]
fn torn_frames_are_read_up_to_the_tear() {
    let text: String = (0..20_000_u64)
        .map(|n| format!("{{\"message\": \"m\", \"n\": {n}, \"x\": \"{}\"}}\n", n * n))
        .collect();
    let whole = packed(text.as_bytes());
    let mut most = 0;
    for length in (5..whole.len()).step_by(4999) {
        let bytes = [
            packed(b"{\"message\": \"first\"}\n"),
            whole[..length].to_vec(),
        ]
        .concat();
        let mut reader = unpacking(&bytes);
        let read: Vec<Entry> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(read[0].message, "first");
        assert!(
            read.iter()
                .skip(1)
                .enumerate()
                .all(|(n, entry)| entry.fields["n"] == n)
        );
        let cut_off = reader.cut_off().unwrap();
        assert_eq!(cut_off.line, read.len() as u64 + 1);
        assert!(
            cut_off.to_string().contains("the last frame is not whole"),
            "{cut_off}"
        );
        most = most.max(read.len());
    }
    assert!(most > 4_000, "{most}");
    // Where the first frame is torn, there is no line before.
    let mut reader = unpacking(&whole[..20]);
    assert!(reader.next().is_none());
    let cut_off = reader.cut_off().unwrap().to_string();
    assert!(
        cut_off.starts_with("the compressed data ends before line 1 (the last frame is not whole)"),
        "{cut_off}"
    );
    assert!(cut_off.ends_with("There is no line before it"), "{cut_off}");
}

#[test]
fn damaged_frames_end_the_entries_and_say_so() {
    let mut bytes = packed(b"{\"message\": \"a\"}\n");
    bytes.extend([0; 100]);
    let mut reader = unpacking(&bytes);
    assert_eq!(reader.by_ref().filter_map(Result::ok).count(), 1);
    let cut_off = reader.cut_off().unwrap().to_string();
    assert!(
        cut_off.starts_with("the compressed data ends before line 2 (the data is damaged: "),
        "{cut_off}"
    );
}

#[test]
fn an_empty_journal_has_no_entries() {
    let mut reader = reader(b"");
    assert!(reader.next().is_none());
    assert_eq!(reader.cut_off(), None);
    let mut none: &[u8] = b"";
    assert_eq!(none.read_until(b'\n', &mut Vec::new()).unwrap(), 0);
}

#[test]
fn what_is_appended_is_read_from_where_reading_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal-run.jsonl");
    let line = |n: u32| format!("{{\"message\":\"m{n}\"}}\n");
    let whole: String = (1..=4).map(line).collect();
    // Wherever a write ends, also in the middle of a line or just before its break.
    for cut in 1..whole.len() {
        let mut names = Vec::new();
        let mut position = None;
        for end in [cut, cut, whole.len()] {
            std::fs::write(&path, &whole[..end]).unwrap();
            let mut reader = match position {
                None => JournalReader::open(&path).unwrap(),
                Some(position) => JournalReader::open_at(&path, position).unwrap(),
            };
            while let Some(line) = reader.next_line() {
                let line = line.unwrap();
                names.push((line.number, line.message.to_string()));
            }
            position = reader.position();
        }
        let expected: Vec<_> = (1..=4).map(|n| (n, format!("m{n}"))).collect();
        assert_eq!(names, expected, "cut at {cut}");
    }
}
