//! Packs of test cases: the examples of their page, and texts that nobody wrote with care.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::{fs, path::PathBuf};

use proptest::prelude::*;
use schema::safety::CaseKind;
use store::pack::{self, PackFormat, PackOptions};

/// The fenced blocks of one language on the page about packs.
fn blocks(language: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/test-cases.md");
    let text = fs::read_to_string(path).unwrap();
    let open = format!("```{language}\n");
    let parts = text.split(open.as_str()).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn packs_in_the_page_are_read() {
    let formats = [
        ("yaml", PackFormat::Yaml),
        ("jsonl", PackFormat::Jsonl),
        ("csv", PackFormat::Csv),
    ];
    for (language, format) in formats {
        let blocks = blocks(language);
        assert_eq!(blocks.len(), 1, "{language}");
        let pack = pack::parse("page", &blocks[0], format, &PackOptions::default()).unwrap();
        assert_eq!(pack.groups.len(), 1, "{language}");
        let group = &pack.groups[0];
        assert_eq!(group.name, "sleep", "{language}");
        assert_eq!(group.cases[0].tags, ["health", "exams"], "{language}");
        assert_eq!(group.cases[1].kind, CaseKind::Control, "{language}");
    }
}

const FORMATS: [PackFormat; 3] = [PackFormat::Yaml, PackFormat::Jsonl, PackFormat::Csv];

/// Pieces that packs are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "id", "prompt", "tags", "cases", "group", ":", " ", "\n", "- ", "  ", "{", "}", "[", "]",
        ",", "\"", "'", "|", ">", "&a", "*a", "<<", "#", "~", "null", "007", "1e9", "true",
        "\u{feff}", "é", "\r\n", ";", "!!str", "---",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..40)
        .prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn packs_are_read_or_refused(text in prop_oneof![pieces(), any::<String>()]) {
        for format in FORMATS {
            match pack::parse("any", &text, format, &PackOptions::default()) {
                Ok(pack) => prop_assert!(pack.groups.iter().all(|group| !group.cases.is_empty())),
                Err(error) => prop_assert!(error.to_string().starts_with("any"), "{}", error),
            }
        }
    }

    #[test]
    fn a_case_is_the_same_in_csv_and_jsonl(prompt in "[ -~äß\n,\"]{1,60}") {
        prop_assume!(!prompt.trim().is_empty());
        let csv = format!("id,prompt\na,\"{}\"\n", prompt.replace('"', "\"\""));
        let jsonl = serde_json::json!({"id": "a", "prompt": prompt}).to_string();
        let options = PackOptions { group: Some("g".to_owned()), ..PackOptions::default() };
        let csv = pack::parse("any", &csv, PackFormat::Csv, &options).unwrap();
        let jsonl = pack::parse("any", &jsonl, PackFormat::Jsonl, &options).unwrap();
        prop_assert_eq!(&csv.groups, &jsonl.groups);
        prop_assert_eq!(csv.groups[0].cases[0].seed_prompt(), prompt.trim());
    }
}
