//! The published schemas: they are schemas, they are what the types give, and they say of each file what readers say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{fs, path::Path};

use schema::EventKind;
use serde_json::{Value, json};
use validate::{Kind, schema, schema_text};

fn published() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

#[test]
fn every_schema_is_one_and_has_a_title() {
    for kind in Kind::ALL {
        let Some(schema) = schema(kind) else {
            assert!(matches!(kind, Kind::Config | Kind::Output), "{kind}");
            continue;
        };
        jsonschema::draft202012::options().build(&schema).unwrap();
        assert_eq!(schema["$id"], kind.schema_file());
        for key in ["title", "description"] {
            if !(kind.is_rows() || kind == Kind::Hazards || kind == Kind::Cost) {
                assert!(schema[key].is_string(), "{kind} has no {key}");
            }
        }
        let name: Kind = kind.name().parse().unwrap();
        assert_eq!(name, kind);
    }
}

/// `cargo xtask schemas` regenerates them.
#[test]
fn the_published_schemas_are_current() {
    for kind in Kind::ALL {
        let Some(schema) = schema(kind) else {
            continue;
        };
        let path = published().join(kind.schema_file());
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == schema_text(&schema),
            "{} is not current: run `cargo xtask schemas` and look at the difference",
            path.display()
        );
    }
    for entry in fs::read_dir(published()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = Kind::ALL.iter().any(|kind| kind.schema_file() == name);
        assert!(known || name == "README.md", "{name} belongs to no kind");
    }
}

#[test]
fn the_table_lists_every_schema() {
    let table = fs::read_to_string(published().join("README.md")).unwrap();
    for kind in Kind::ALL {
        let row = format!("| [{0}]({0}) |", kind.schema_file());
        assert!(table.contains(&row), "{row}");
    }
}

fn takes(kind: Kind, value: &Value) -> bool {
    jsonschema::draft202012::options()
        .build(&schema(kind).unwrap())
        .unwrap()
        .is_valid(value)
}

#[test]
fn unknown_keys_are_allowed_where_readers_keep_them() {
    assert!(takes(Kind::Benchmark, &json!({"what": 1, "metrics": null})));
    assert!(takes(
        Kind::Cost,
        &json!({"any": {"phase": "any", "cost": null, "what": 1}})
    ));
    for (kind, refused) in [
        (
            Kind::TestCases,
            json!([{"id": "a", "prompt": "x", "what": 1}]),
        ),
        (
            Kind::Prices,
            json!({"format": 1, "as_of": "x", "prices": [{"model": "m", "input": 1, "output": 1, "what": 1}]}),
        ),
    ] {
        assert!(!takes(kind, &refused), "{kind}: {refused}");
    }
}

#[test]
fn wrong_files_are_refused() {
    let score =
        json!({"id": "s", "metric_id": "m", "metric_type": "positive", "target_model": "t"});
    let with = |key: &str, value: Value| {
        let mut row = score.clone();
        row[key] = value;
        json!([row])
    };
    assert!(takes(Kind::Scores, &json!([score])));
    for wrong in [
        with("metric_type", json!("neutral")),
        with("present", json!("yes")),
        with("score", json!("1")),
        with("sample", json!(-1)),
        with("target_model", json!("")),
        json!({"id": "s"}),
    ] {
        assert!(!takes(Kind::Scores, &wrong), "{wrong}");
    }
    for (kind, wrong) in [
        (Kind::Benchmark, json!({"metrics": [{"id": "m"}]})),
        (Kind::Benchmark, json!({"tools": [{"answer": 1}]})),
        (Kind::Hazards, json!([{"metrics": []}])),
        (Kind::Scenarios, json!([{"id": "s"}])),
        (
            Kind::Conversations,
            json!([{"id": "s", "metric_id": "m", "transcript": [{"role": "bot"}]}]),
        ),
        (Kind::Results, json!([{"target_model": "t"}])),
        (Kind::Grades, json!({"format": "1.0.0"})),
        (
            Kind::Standards,
            json!({"_metadata": {}, "standards": {"reference_suts": "x"}}),
        ),
        (Kind::Record, json!({})),
        (Kind::Manifest, json!({"format_version": 1})),
        (
            Kind::Imported,
            json!({"format_version": "1.0.0", "from": "eee"}),
        ),
        (Kind::Journal, json!({"timestamp": "x"})),
        (
            Kind::Journal,
            json!({"message": EventKind::ScoreFinished, "conv_id": 1}),
        ),
        (
            Kind::SafetySingleTurn,
            json!({"type": "multi_turn_response", "data": {"total_passed": 0, "total_failed": 0, "failed_results": []}}),
        ),
        (
            Kind::SafetySingleTurn,
            json!({"total_passed": 0, "total_failed": 0}),
        ),
        (
            Kind::SafetyMultiTurn,
            json!({"total_passed": 0, "total_failed": 0, "failed_results": [[]]}),
        ),
        (Kind::TestCases, json!([{"id": "a"}])),
        (Kind::ExportRuns, json!({"benchmark": "b"})),
        (Kind::ExportConversations, json!({"benchmark": "b"})),
        (Kind::ExportScores, json!({"benchmark": "b"})),
        (
            Kind::ProgramLines,
            json!({"id": 1, "method": "judge", "params": {}}),
        ),
    ] {
        assert!(!takes(kind, &wrong), "{kind}: {wrong}");
    }
}

#[test]
fn calls_of_tools_are_part_of_transcripts() {
    let row = json!([{"id": "s", "metric_id": "m", "transcript": [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}]},
        {"role": "tool", "content": "paid", "tool_call_id": "c", "name": "pay"},
        {"role": "assistant", "content": null, "finish_reason": "odd"},
    ]}]);
    assert!(takes(Kind::Conversations, &row));
}
