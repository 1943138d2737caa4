//! What is shown of a safety evaluation.
#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use report::safety_summary;
use schema::safety::results::{SafetyFile, SafetyResults};

fn golden(name: &str) -> SafetyResults {
    let path = format!(
        "{}/../../fixtures/safety/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap();
    SafetyFile::read(name, &text).unwrap().results
}

#[test]
fn a_single_turn_summary_has_groups_strategies_layers_and_the_worst() {
    let text = safety_summary("my-model", &golden("single-turn-probity.json"), 100, 5);
    for part in [
        "my-model\n",
        "passed",
        "failed",
        "scores: ",
        "group",
        "high risk",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for line in text
        .lines()
        .filter(|line| line.contains("user ") || line.contains("target "))
    {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_multi_turn_summary_shows_the_message_with_the_lowest_score() {
    let results = golden("multi-turn-probity.json");
    let text = safety_summary("my-model", &results, 100, 5);
    let details = results.details().unwrap();
    let worst = details.conversations.iter().filter(|row| !row.passed);
    let worst = worst.min_by_key(|row| row.safe_response_score).unwrap();
    assert!(text.contains(&worst.case_id), "{text}");
    assert!(text.contains("judge "), "{text}");
}

#[test]
fn a_file_of_another_program_has_totals_only() {
    let text = safety_summary("old", &golden("single-turn-bare.json"), 100, 5);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("passed"), "{text}");
}

#[test]
fn text_from_a_model_cannot_command_the_terminal() {
    let mut results = golden("single-turn-probity.json");
    if let SafetyResults::SingleTurn(data) = &mut results {
        for row in data.failed_results.iter_mut().flatten() {
            row.model_response = "\u{1b}[2Jgone\nand more".into();
        }
    }
    let text = safety_summary("x\u{1b}[1m", &results, 100, 5);
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("gone and more"), "{text}");
}
