//! Whatever the bytes are, reading and checking end without a panic, and agree with each other.
//!
//! 256 cases each by default. For longer, set the number: `PROPTEST_CASES=2500000 cargo test -p probity-journal --release
//! --test any_bytes` takes some ten minutes on two cores.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use schema::EventKind;
use std::{collections::BTreeMap, io::Cursor};

use journal::{
    JournalReader, JournalSource, Line,
    check::{Verdict, check_with},
};
use proptest::{collection::vec, prelude::*, sample::select};

/// What is read of `bytes`, and by which way it comes does not matter.
fn read(bytes: &[u8]) {
    let open = || {
        JournalReader::new(
            JournalSource::new(Cursor::new(bytes.to_vec())).unwrap(),
            "any",
        )
    };
    let mut owned = open();
    let entries: Vec<_> = owned.by_ref().collect();
    let mut borrowed = open();
    let (mut lines, mut faults) = (0, 0);
    while let Some(line) = borrowed.next_line() {
        match (line, entries.get(lines)) {
            (Ok(line), Some(Ok(entry))) => assert_eq!(line.to_entry().unwrap(), *entry),
            (Ok(line), Some(Err(_))) => assert!(line.to_entry().is_err()),
            (Err(error), Some(Err(other))) => {
                assert_eq!(error.to_string(), other.to_string());
                faults += 1;
            }
            (line, entry) => panic!("{line:?} {entry:?}"),
        }
        lines += 1;
    }
    assert_eq!(lines, entries.len());
    assert_eq!(owned.cut_off(), borrowed.cut_off());
    if let Some(cut_off) = owned.cut_off() {
        assert!(cut_off.line > 0 && !cut_off.to_string().is_empty());
    }

    let report = check_with("any", || Ok(open()));
    if faults > 0 || entries.is_empty() {
        assert!(
            matches!(report.verdict(), Verdict::NotCheckable(_)),
            "{report:?}"
        );
    }
    serde_json::to_string(&report).unwrap();
    entries
        .iter()
        .flatten()
        .for_each(|entry| assert!(entry.timestamp.is_some() || entry.time().is_none()));
    let _ = Line::parse(bytes).map(|line| line.time());
}

/// Bytes that are close to JSON lines.
fn jsonish() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b":",
        b",",
        b"\n",
        b"\r\n",
        b" ",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b"d800",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xa8",
        b"null",
        b"true",
        b"-",
        b"0",
        b"1e999",
        b"message",
        b"\"message\":",
        b"{\"message\":\"",
        b"\"}\n",
        b"\"test\":\"t\"",
        b"\"prompt_id\":\"p\"",
        b"\"sut\":\"s\"",
        b"\"format_version\":\"1.0.0\"",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"\x1f\x8b",
    ];
    vec(select(pieces), 0..60).prop_map(|pieces| pieces.concat())
}

/// Events of a run in any order and number, some of them with faults.
fn events() -> impl Strategy<Value = Vec<u8>> {
    let message = select(vec![
        EventKind::StartingJournal.message(),
        EventKind::StartingRun.message(),
        EventKind::StartingCalibrationRun.message(),
        EventKind::HazardInfo.message(),
        EventKind::UsingTestItems.message(),
        EventKind::QueuingItem.message(),
        EventKind::FetchedSutResponse.message(),
        EventKind::UsingCachedSutResponse.message(),
        EventKind::TranslatedSutResponse.message(),
        EventKind::FetchedAnnotatorResponse.message(),
        EventKind::UsingCachedAnnotatorResponse.message(),
        EventKind::TranslatedAnnotation.message(),
        EventKind::MeasuredItemQuality.message(),
        EventKind::ItemFinished.message(),
        EventKind::ItemFailed.message(),
        EventKind::JudgeAbstained.message(),
        EventKind::FinishedPipeline.message(),
        EventKind::TestScored.message(),
        EventKind::HazardScored.message(),
        EventKind::HazardCalibrated.message(),
        EventKind::CallNotMade.message(),
        EventKind::ExceptionStoppingRun.message(),
        EventKind::FinishedRun.message(),
        "unknown",
    ]);
    let value = || {
        select(vec![
            "null",
            "0",
            "1",
            "1.0",
            "0.5",
            "-1",
            "33",
            "4294967295",
            "4294967296",
            "1e400",
            "true",
            "\"\"",
            "\" \"",
            "\"a\"",
            "\"b\"",
            "\"1.0.0\"",
            "[]",
            "[\"a\"]",
            "[\"a\",\"b\"]",
            "[1]",
            "{}",
            "{\"is_safe\":true}",
            "{\"is_safe\":1.0}",
            "{\"is_safe\":false,\"is_valid\":false}",
            "{\"a\":{\"a\":1}}",
            "{\"message\":\"x\"}",
        ])
    };
    let key = select(vec![
        "test",
        "prompt_id",
        "sut",
        "turn",
        "annotator",
        "annotation",
        "measurements",
        "items_finished",
        "hazard",
        "tests",
        "suts",
        "benchmarks",
        "benchmark",
        "score",
        "using",
        "total_finished",
        "finished_counts",
        "format_version",
        "response_text",
        "timestamp",
        "exc_val",
        "run_id",
    ]);
    // Mostly whole, so that the rules are reached: fields of the common kinds are kept unless they are replaced.
    let fields = vec((key, value()), 0..3);
    let line = (message, fields).prop_map(|(message, fields)| {
        let mut all: BTreeMap<&str, &str> = [
            ("test", "\"a\""),
            ("prompt_id", "\"p\""),
            ("sut", "\"a\""),
            ("annotator", "\"a\""),
            ("hazard", "\"a\""),
            ("tests", "[\"a\"]"),
            ("suts", "[\"a\"]"),
            ("benchmarks", "[\"a\"]"),
            ("score", "1.0"),
            ("annotation", "{\"is_safe\":true}"),
            ("measurements", "{\"is_safe\":1.0}"),
            ("response_text", "\"r\""),
        ]
        .into();
        all.extend(fields);
        let fields: Vec<String> = all
            .iter()
            .map(|(key, value)| format!("\"{key}\":{value}"))
            .collect();
        format!("{{\"message\":\"{message}\",{}}}\n", fields.join(","))
    });
    (vec(line, 0..40), any::<bool>()).prop_map(|(lines, start)| {
        let start = if start { "{\"message\":\"starting run\",\"tests\":[\"a\"],\"suts\":[\"a\"],\"benchmarks\":[\"a\"]}\n" } else { "" };
        let scores = "{\"message\":\"test scored\",\"test\":\"a\",\"sut\":\"a\",\"items_finished\":1}\n";
        format!("{start}{}{scores}", lines.concat()).into_bytes()
    })
}

/// `bytes` packed, and then damaged.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let frames = vec((events(), 1_i32..4), 1..3);
    let damages = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (frames, damages, any::<prop::sample::Index>()).prop_map(|(frames, damages, cut)| {
        let mut bytes: Vec<u8> = frames
            .iter()
            .flat_map(|(text, level)| zstd::encode_all(text.as_slice(), *level).unwrap())
            .collect();
        for (place, byte) in damages {
            let place = place.index(bytes.len());
            bytes[place] ^= byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_at_all(bytes in vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn bytes_close_to_json(bytes in jsonish()) {
        read(&bytes);
    }

    #[test]
    fn any_events(bytes in events()) {
        read(&bytes);
    }

    #[test]
    fn damaged_frames(bytes in damaged()) {
        read(&bytes);
    }
}
