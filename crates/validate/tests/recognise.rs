//! What files are taken for, and what is left to others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use schema::EventKind;
use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use validate::{Kind, Options, check, recognise};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// What a file of this name and content is taken for.
fn taken(name: &str, content: &str) -> Option<Kind> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    recognise(&path)
}

#[test]
fn files_of_other_programs_are_left_alone() {
    for content in [
        r#"{"data": [1, 2]}"#,
        r#"{"data": {"id": 1}}"#,
        r#"{"type": "message", "data": {}}"#,
        r#"{"data": {"data": {"total_failed": 1}}}"#,
    ] {
        assert_eq!(taken("a.json", content), None, "{content}");
    }
    for content in [
        "{\"message\": \"server is up\", \"level\": \"info\"}\n",
        "{\"message\": {\"role\": \"user\", \"content\": \"starting run\"}}\n",
        "{\"role\": \"user\", \"content\": \"x\"}\n",
    ] {
        assert_eq!(taken("a.jsonl", content), None, "{content}");
    }
    // It is named as journals are packed, and is none.
    assert_eq!(
        taken("a.jsonl.zst", "{\"message\": \"server is up\"}\n"),
        None
    );
}

#[test]
fn safety_results_are_known_by_type_or_key() {
    for folder in ["safety", "golden-safety"] {
        for path in fixtures(folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let kind = match name.starts_with("single") {
                true => Kind::SafetySingleTurn,
                false => Kind::SafetyMultiTurn,
            };
            // Neither the name nor the folder tells.
            let content = fs::read_to_string(&path).unwrap();
            assert_eq!(taken("a.json", &content), Some(kind), "{name}");
        }
    }
    let broken = r#"{"type": "multi_turn_response", "data": [1]}"#;
    assert_eq!(taken("a.json", broken), Some(Kind::SafetyMultiTurn));
    let early = r#"{"data": {"results_by_iteration": 5}}"#;
    assert_eq!(taken("a.json", early), Some(Kind::SafetySingleTurn));
}

#[test]
fn journals_are_known_by_their_first_line() {
    for path in fixtures("journal/reference") {
        let content = fs::read_to_string(&path).unwrap();
        let begins = [
            EventKind::StartingJournal,
            EventKind::StartingRun,
            EventKind::StartingCalibrationRun,
        ];
        let first = content.lines().next().unwrap();
        let known = begins.iter().any(|kind| first.contains(kind.message()));
        let kind = known.then_some(Kind::Journal);
        assert_eq!(taken("a.jsonl", &content), kind, "{}", path.display());
        assert!(known, "{}: {first}", path.display());
    }
    // What a journal is named as is a journal, whatever is in it.
    let kind = taken("journal-a.jsonl", "{\"message\": \"x\"}\n");
    assert_eq!(kind, Some(Kind::Journal));
}

#[test]
fn a_benchmark_may_have_the_name_of_a_folder_that_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "name: a\ndescription: x\nmetrics: []\n").unwrap();
    };
    for name in ["target", "prompts", "spool", "gaps", "locks", "other"] {
        write(&format!("benchmarks/{name}/benchmark.yaml"));
    }
    // In such a folder that is no benchmark nothing is looked at.
    write("target/debug/benchmark.yaml");
    write("benchmarks/other/prompts/benchmark.yaml");
    let report = check(folder.path(), &Options::default()).unwrap();
    assert_eq!(report.problems(), 0, "{report:?}");
    assert_eq!(report.files.len(), 6, "{report:?}");
}
