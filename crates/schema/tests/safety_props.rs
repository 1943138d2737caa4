//! Readers of packs and results against texts that nobody wrote with care.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use proptest::prelude::*;
use schema::safety::{
    SafetyScore,
    pack::{self, PackFormat, PackOptions},
    results::{SafetyFile, SafetyResults, SingleTurnResults, SingleTurnRow},
};

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
    fn results_are_read_or_refused(text in any::<String>()) {
        if let Err(error) = SafetyFile::read("any", &text) {
            prop_assert!(error.to_string().starts_with("any: "));
        }
    }

    #[test]
    fn scores_and_texts_come_back_to_the_last_bit(
        scores in prop::collection::vec(0.0..=1.0f64, 1..20),
        text in any::<String>(),
    ) {
        let row = |(index, score): (usize, &f64)| {
            let id = i64::try_from(index).unwrap();
            SingleTurnRow::new(id, text.as_str(), text.as_str(), SafetyScore::new(*score).unwrap())
        };
        let results = SingleTurnResults {
            failed_results: vec![scores.iter().enumerate().map(row).collect(), Vec::new()],
            ..SingleTurnResults::default()
        };
        let file = SafetyFile::envelope(SafetyResults::SingleTurn(results));
        prop_assert_eq!(&SafetyFile::read("any", &file.to_json().unwrap()).unwrap(), &file);
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
