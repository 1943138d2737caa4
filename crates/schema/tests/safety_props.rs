//! Readers of results against texts that nobody wrote with care.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use proptest::prelude::*;
use schema::safety::{
    SafetyScore,
    results::{SafetyFile, SafetyResults, SingleTurnResults, SingleTurnRow},
};

proptest! {
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
}
