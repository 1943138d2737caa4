//! Whatever a file holds: it is checked to its end, and every reported place lies in it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::fs;

use proptest::prelude::*;
use validate::{Kind, Options, check};

const SEEDS: [(Kind, &str, &str); 5] = [
    (
        Kind::Conversations,
        "a.json",
        r#"[{"id": "s", "metric_id": "m", "conv_id": "c", "target": {"id": "t"}, "transcript": [{"role": "user", "content": "é\u0041\n"}]}, {"id": 5}]"#,
    ),
    (
        Kind::Benchmark,
        "benchmark.yaml",
        "name: é\nmetrics:\n- {id: m01, name: a, type: positive, definition: x}\n- id: &x m02\ntools: [{name: t, answer: {a: 1}}]\n",
    ),
    (
        Kind::Standards,
        "a.json",
        r#"{"_metadata": {"file_format_version": "2.0.0"}, "standards": {"reference_suts": ["a"], "reference_benchmark": "b", "reference_standards": {"h": 0.5}}}"#,
    ),
    (
        Kind::Journal,
        "journal-a.jsonl",
        "{\"message\": \"starting journal\"}\n{\"message\": \"item finished\", \"test\": \"a\"}\n",
    ),
    (
        Kind::TestCases,
        "a.yaml",
        "group: a\ncases:\n- {id: a, prompt: x, tags: [y]}\n",
    ),
];

/// The lines of a file. In YAML a carriage return alone ends a line, too.
fn lines(name: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    // What is no text is not read as YAML.
    let yaml = name.ends_with(".yaml") && std::str::from_utf8(bytes).is_ok();
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let alone = byte == b'\r' && yaml && rest.peek() != Some(&b'\n');
        match byte {
            _ if alone => lines.push(Vec::new()),
            b'\n' => lines.push(Vec::new()),
            byte => lines.last_mut().unwrap().push(byte),
        }
    }
    lines
}

/// Characters of a line. A byte that belongs to no character counts as one.
fn characters(line: &[u8]) -> u64 {
    String::from_utf8_lossy(line).chars().count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn broken_files_are_reported_with_places_in_them(
        seed in 0..SEEDS.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..6),
    ) {
        let (kind, name, text) = SEEDS[seed];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, what) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match what {
                0 => bytes.truncate(at),
                1 => bytes[at] = byte,
                2 => bytes.insert(at, b"{}[]\",:\n -&*"[usize::from(byte) % 12]),
                _ => { bytes.remove(at); }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let options = Options { kind: Some(kind), ..Options::default() };
        let report = check(&path, &options).unwrap();
        // A place is that of a character, or the one behind the last of its line.
        let columns: Vec<u64> = lines(name, &bytes).iter().map(|line| characters(line)).collect();
        for finding in &report.files[0].findings {
            prop_assert!(!finding.reason.is_empty());
            let Some(line) = finding.line else {
                prop_assert_eq!(finding.column, None);
                continue;
            };
            let at = usize::try_from(line).unwrap();
            prop_assert!((1..=columns.len()).contains(&at), "line {line} of {}: {finding:?}", columns.len());
            if let Some(column) = finding.column {
                let last = columns[at - 1] + 1;
                prop_assert!((1..=last).contains(&column), "column {column} of {last}: {finding:?}");
            }
        }
        // The same without naming the kind of file.
        let _ = check(&path, &Options::default());
    }
}
