//! The two result files of a safety run: every generation is read, and nothing is lost on the way back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{fs, path::PathBuf};

use schema::safety::{
    ErrorKind, Gate, GateOutcome, SafetyScore, Stage,
    results::{
        Details, Form, MultiTurnResults, MultiTurnRow, SafetyFile, SafetyResults, SavedMessage,
        SingleTurnResults, SingleTurnRow,
    },
};
use schema::{Role, Turn};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/safety")
}

fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn read(name: &str) -> SafetyFile {
    SafetyFile::read(name, &text(name)).unwrap()
}

fn single(file: &SafetyFile) -> &SingleTurnResults {
    match &file.results {
        SafetyResults::SingleTurn(data) => data,
        SafetyResults::MultiTurn(_) => panic!("a multi-turn file"),
    }
}

fn multi(file: &SafetyFile) -> &MultiTurnResults {
    match &file.results {
        SafetyResults::MultiTurn(data) => data,
        SafetyResults::SingleTurn(_) => panic!("a single-turn file"),
    }
}

fn score(value: f64) -> SafetyScore {
    SafetyScore::new(value).unwrap()
}

#[test]
fn every_example_comes_back_without_loss() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let file = read(&name);
        assert_eq!(
            name.starts_with("single"),
            matches!(file.results, SafetyResults::SingleTurn(_)),
            "{name}"
        );
        let written = file.to_json().unwrap();
        let mut back: Value = serde_json::from_str(&written).unwrap();
        let mut original: Value = serde_json::from_str(&text(&name)).unwrap();
        // A file without failed_results is given them; nothing else is added.
        if original["data"].is_null() && original.get("failed_results").is_none() {
            let added = back.as_object_mut().unwrap().remove("failed_results");
            assert!(added.is_some(), "{name}");
        }
        sort(&mut back);
        sort(&mut original);
        assert_eq!(back, original, "{name}");
        assert_eq!(SafetyFile::read(&name, &written).unwrap(), file, "{name}");
        seen += 1;
    }
    assert!(seen >= 9);
}

/// Key order carries no meaning.
fn sort(value: &mut Value) {
    value.sort_all_objects();
}

#[test]
fn our_own_files_come_back_byte_by_byte() {
    for name in [
        "single-turn-probity.json",
        "multi-turn-probity.json",
        "single-turn-envelope.json",
        "multi-turn-envelope.json",
        "single-turn-bare.json",
    ] {
        assert_eq!(read(name).to_json().unwrap(), text(name), "{name}");
    }
}

#[test]
fn the_documented_fields_are_read() {
    let file = read("single-turn-envelope.json");
    assert!(matches!(&file.form, Form::Envelope { extra } if extra.is_empty()));
    let data = single(&file);
    assert_eq!((data.total_passed, data.total_failed), (45, 3));
    assert_eq!(
        data.failed_results.iter().map(Vec::len).collect::<Vec<_>>(),
        [2, 0, 1]
    );
    let row = &data.failed_results[0][1];
    assert_eq!(row.conversation_id, Some(7));
    assert_eq!(row.safe_response_score, score(0.32));

    let file = read("multi-turn-envelope.json");
    let row = &multi(&file).failed_results[0];
    assert_eq!(row.min_safe_response_score, score(0.21));
    assert_eq!(row.conversation[0].role, Role::System);
    assert_eq!(row.conversation.len(), 5);
}

#[test]
fn newer_and_older_generations_are_read() {
    let file = read("single-turn-newer.json");
    assert_eq!(file.form, Form::Bare);
    let data = single(&file);
    assert_eq!(data.evaluation_id, Some(json!(101)));
    assert_eq!(data.extra["quota"]["left"], 12);
    let rows = &data.results_by_iteration.as_ref().unwrap()[0];
    assert_eq!(rows[1].extra["annotated_by"], "a key from the future");
    assert_eq!(rows[1].test_case_id, Some(Value::Null));
    assert_eq!(rows[0].test_case_id, Some(json!(7)));

    let early = read("single-turn-early.json");
    assert_eq!(single(&early).failed_results[0][0].conversation_id, None);

    let newer = read("multi-turn-newer.json");
    let failed = &multi(&newer).failed_results;
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].conversation_id, Some(2));
}

#[test]
fn a_flat_list_of_rows_is_split_into_layers() {
    let row = |layer: u32, passed: bool| json!({"user_input": "a", "model_response": "b", "safe_response_score": 0.1, "iteration": layer, "passed": passed, "conversation_id": 1});
    let text = json!({"total_passed": 1, "total_failed": 2, "results": [row(0, false), row(0, true), row(2, false)]}).to_string();
    let file = SafetyFile::read("flat.json", &text).unwrap();
    let layers = &single(&file).failed_results;
    assert_eq!(layers.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn an_empty_bare_file_is_known_by_its_details_or_its_name() {
    let text = r#"{"total_passed": 1, "total_failed": 0, "failed_results": []}"#;
    let kind = |name: &str, text: &str| {
        let file = SafetyFile::read(name, text).unwrap();
        matches!(file.results, SafetyResults::SingleTurn(_))
    };
    assert!(!kind("some.json", text));
    assert!(kind(
        "circuit_breaker_labs_single_turn_evaluation_20260102_030405.json",
        text
    ));
}

#[test]
fn details_are_read() {
    let file = read("single-turn-probity.json");
    let details = file.results.details().unwrap();
    assert_eq!(details.format, Details::FORMAT);
    assert_eq!(details.over_refusals(), 1);
    assert_eq!(details.conversations[2].parent_conversation_id, Some(2));
    assert_eq!(details.conversations[1].messages[0].spread, Some(0.1));
    assert_eq!(details.errors[0].kind, ErrorKind::ModelTimeout);
    assert_eq!(details.errors[0].stage, Stage::Target);
    let run = details.run.as_ref().unwrap();
    run.single_turn
        .as_ref()
        .unwrap()
        .check(&["authority_claim"])
        .unwrap();

    let tally = file.results.tally();
    assert_eq!((tally.passed, tally.failed, tally.errors), (1, 2, 1));
    assert!(matches!(
        run.gate.judge(tally),
        GateOutcome::TooManyFailures { .. }
    ));
    assert_eq!(Gate::default().judge(tally), GateOutcome::Passed);
}

#[test]
fn rows_have_the_documented_keys_and_no_others() {
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let row = SingleTurnRow::new(3, "prompt", "reply", score(0.4));
    let value = serde_json::to_value(&row).unwrap();
    assert_eq!(
        keys(&value),
        [
            "user_input",
            "conversation_id",
            "model_response",
            "safe_response_score"
        ]
    );
    let value = serde_json::to_value(row.with_passed(false)).unwrap();
    assert_eq!(value["test_result_id"], 3);
    assert_eq!(value["test_case_id"], Value::Null);
    assert!(value.as_object().unwrap().contains_key("test_case_id"));

    let turn = Turn::new(Role::User, "hello");
    let row = MultiTurnRow::new(3, [SavedMessage::from(&turn)], score(0.4));
    let value = serde_json::to_value(&row).unwrap();
    assert_eq!(
        keys(&value),
        ["min_safe_response_score", "conversation_id", "conversation"]
    );
    assert_eq!(keys(&value["conversation"][0]), ["role", "content"]);

    let empty = SafetyFile::envelope(SafetyResults::MultiTurn(MultiTurnResults::default()));
    let value: Value = serde_json::from_str(&empty.to_json().unwrap()).unwrap();
    assert_eq!(keys(&value), ["type", "data"]);
    assert_eq!(
        keys(&value["data"]),
        ["total_passed", "total_failed", "failed_results"]
    );
}

#[test]
fn the_bare_form_is_the_data_alone() {
    let file = read("single-turn-probity.json");
    let bare = SafetyFile::bare(file.results.clone());
    let back = SafetyFile::read("bare.json", &bare.to_json().unwrap()).unwrap();
    assert_eq!(back, bare);
    let whole: Value = serde_json::from_str(&file.to_json().unwrap()).unwrap();
    let value: Value = serde_json::from_str(&bare.to_json().unwrap()).unwrap();
    assert_eq!(value, whole["data"]);
}

#[test]
fn keys_beside_the_envelope_survive() {
    let text = r#"{"type": "multi_turn_response", "version": "1.0", "data": {"total_passed": 0, "total_failed": 0, "failed_results": []}}"#;
    let file = SafetyFile::read("a.json", text).unwrap();
    let back: Value = serde_json::from_str(&file.to_json().unwrap()).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn bad_files_are_reported_with_the_row() {
    let row = |score: &str| {
        format!(
            r#"{{"user_input": "a", "conversation_id": 1, "model_response": "b", "safe_response_score": {score}}}"#
        )
    };
    let data = |rows: &str| {
        format!(r#"{{"total_passed": 0, "total_failed": 1, "failed_results": {rows}}}"#)
    };
    let good = row("0.5");
    let cases = [
        (String::new(), "bad.json: the file is empty"),
        ("{".to_owned(), "invalid JSON"),
        ("[]".to_owned(), "holds a list"),
        ("{}".to_owned(), "not a result of a safety evaluation"),
        (
            r#"{"type": "single_turn", "data": {}}"#.to_owned(),
            "unknown type \"single_turn\"; known are: single_turn_response, multi_turn_response",
        ),
        (
            r#"{"type": "multi_turn_respons", "data": {}}"#.to_owned(),
            "did you mean `multi_turn_response`?",
        ),
        (r#"{"data": {}}"#.to_owned(), "`type` is missing"),
        (
            r#"{"type": "single_turn_response", "data": []}"#.to_owned(),
            "`data` is a list",
        ),
        (
            r#"{"type": "single_turn_response", "data": {"total_passed": 1, "total_failed": 0}}"#
                .to_owned(),
            "data.failed_results is missing",
        ),
        (
            r#"{"total_passed": 1, "failed_results": [[]]}"#.to_owned(),
            "missing field `total_failed`",
        ),
        (
            data(&format!("[[{good}], [{good}, {}]]", row("1.5"))),
            "bad.json: failed_results[1][1]: safety score is 1.5, and must be a number from 0 to 1",
        ),
        (
            data(&format!("[[{}]]", row("null"))),
            "failed_results[0][0]: ",
        ),
        (
            data(&format!("[[{good}], {good}]")),
            "failed_results[1]: expected the rows of a layer, found an object",
        ),
        (
            data(
                r#"[{"min_safe_response_score": 0.1, "conversation": [{"role": "robot", "content": "x"}]}]"#,
            ),
            "failed_results[0]: unknown variant `robot`",
        ),
        (data("3"), "not a result of a safety evaluation"),
    ];
    for (text, expected) in cases {
        let error = SafetyFile::read("bad.json", &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}\n{expected}");
    }
}
