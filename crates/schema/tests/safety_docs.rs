//! The examples in the page about safety results.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::{fs, path::PathBuf};

use schema::safety::results::SafetyFile;

/// The fenced blocks of one language on a page of `docs/formats`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats");
    let text = fs::read_to_string(path.join(page)).unwrap();
    let open = format!("```{language}\n");
    let parts = text.split(open.as_str()).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn results_in_the_page_are_read() {
    let blocks = blocks("safety-results.md", "json");
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let file = SafetyFile::read("page", &block).unwrap();
        let back: serde_json::Value = serde_json::from_str(&file.to_json().unwrap()).unwrap();
        let original: serde_json::Value = serde_json::from_str(&block).unwrap();
        assert_eq!(back, original);
    }
}
