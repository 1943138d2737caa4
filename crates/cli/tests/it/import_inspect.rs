//! Logs of Inspect, imported: copies, calls of tools, keys that others need.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use common::{Project, Ran};
use exports::json_of;
use imports::{
    FLATTERY, fixture, golden_of, hello, import, imported, instance, lines, log, rows, rows_at,
    sample,
};
use serde_json::{Value, json};

/// The rows of the log that [`log`] is.
fn rows_of_log(project: &Project) -> Vec<Value> {
    rows_at(project, "benchmarks/t/runs/m/conversations.json")
}

/// Nothing is wrong with the benchmark.
fn valid(project: &Project, benchmark: &str) -> Ran {
    project.succeeds(&["validate", &format!("benchmarks/{benchmark}")])
}

#[test]
fn a_retry_holds_copies_of_what_went_well() {
    let project = Project::new();
    let with_uuid = |id: u32, uuid: &str| {
        let mut sample = sample(json!(id), hello());
        sample["uuid"] = json!(uuid);
        sample
    };
    let mut failed = with_uuid(2, "u2");
    failed["error"] = json!({"message": "the sandbox is gone"});
    let mut first = log(&[with_uuid(1, "u1"), failed]);
    first["status"] = json!("error");
    let mut retry = log(&[with_uuid(1, "u1"), with_uuid(2, "u3")]);
    retry["eval"]["eval_id"] = json!("the retry");
    project.write("logs/1.json", &first.to_string());
    project.write("logs/2.json", &retry.to_string());
    let ran = import(&project, &["logs", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("same uuid"), "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(report["left_out"][0]["count"], 1, "{report}");
    let reported: Vec<_> = rows_of_log(&project)
        .iter()
        .map(|row| json!([row["conv_id"], row["error"]]))
        .collect();
    assert_eq!(
        reported,
        [
            json!(["m01_s001_v01__m", null]),
            json!(["m01_s002_v01__m", "the sandbox is gone"]),
            json!(["m01_s002_v01__m__s1", null]),
        ]
    );
}

#[test]
fn an_agentic_benchmark_keeps_its_tools() {
    let project = golden_of("delegated-actions/");
    project.succeeds(&["export", "inspect", "delegated-actions", "--out", "logs"]);
    project.succeeds(&["import", "logs", "--as", "theirs"]);
    let parts = |benchmark: &str| {
        let yaml = project.read(&format!("benchmarks/{benchmark}/benchmark.yaml"));
        let yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
        let scenarios = rows_at(&project, &format!("benchmarks/{benchmark}/scenarios.json"));
        let narrowed: Vec<_> = scenarios.iter().map(|row| row["tools"].clone()).collect();
        let names = yaml["tools"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|tool| tool["name"].clone()).collect();
        let answers = yaml["tools"][1]["answers"].clone();
        json!([names, answers, yaml["world_state"], narrowed])
    };
    assert_eq!(parts("delegated-actions"), parts("theirs"));
    valid(&project, "theirs");
    project.succeeds(&["simulate", "theirs", "--dry-run"]);

    // A tool that cannot be offered, and a log that has none of them.
    project.succeeds(&[
        "export",
        "inspect",
        "delegated-actions",
        "--log-format",
        "json",
        "--out",
        "json",
        "--target",
        "scripted-careful",
    ]);
    let name = std::fs::read_dir(project.path("json")).unwrap().next();
    let path = name.unwrap().unwrap().path();
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("NaN", "null");
    let mut log: Value = serde_json::from_str(&text).unwrap();
    log["eval"]["metadata"]["tools"][0]["answer"] = Value::Null;
    project.write("broken.json", &log.to_string());
    let report = json_of(&project.succeeds(&["import", "broken.json", "--as", "less", "--json"]));
    assert!(
        report["notes"].to_string().contains("get_balance"),
        "{report}"
    );
    valid(&project, "less");
    log["eval"]["metadata"]["tools"][0] = json!("no tool");
    project.write("unread.json", &log.to_string());
    let report = json_of(&project.succeeds(&["import", "unread.json", "--as", "u", "--json"]));
    assert!(report["notes"].to_string().contains("tool 1"), "{report}");
    log["eval"]["metadata"]["tools"] = Value::Null;
    project.write("without.json", &log.to_string());
    project.succeeds(&["import", "without.json", "--as", "none"]);
    valid(&project, "none");
    project.succeeds(&["simulate", "none", "--dry-run"]);
}

#[test]
fn calls_without_ids_have_their_answers() {
    let project = Project::new();
    let call = |name: &str| json!({"function": name, "arguments": {}, "type": "function"});
    let messages = json!([
        {"role": "user", "content": "Pay it."},
        {"role": "assistant", "content": "", "tool_calls": [call("look"), call("pay")]},
        {"role": "tool", "content": "paid", "function": "pay"},
        {"role": "tool", "content": "seen", "function": "look"},
        {"role": "assistant", "content": "", "tool_calls": [call("pay")]},
        {"role": "tool", "content": "paid again"},
        {"role": "assistant", "content": "Done."},
    ]);
    project.write("log.json", &log(&[sample(json!(1), messages)]).to_string());
    imported(&project, &["log.json"]);
    let row = rows_of_log(&project).remove(0);
    let answers: Vec<_> = row["transcript"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|turn| turn["role"] == "tool")
        .map(|turn| json!([turn["tool_call_id"], turn["name"]]))
        .collect();
    assert_eq!(
        answers,
        [
            json!(["call_2", "pay"]),
            json!(["call_1", "look"]),
            json!(["call_3", "pay"])
        ]
    );
    let ran = valid(&project, "t");
    assert!(!ran.out.contains("is not answered"), "{}", ran.out);

    let mut row = instance();
    row["messages"] = json!([
        {"turn_idx": 0, "role": "user", "content": "Pay it."},
        {"turn_idx": 1, "role": "assistant", "content": null, "tool_calls": [{"name": "pay", "arguments": {}}]},
        {"turn_idx": 2, "role": "tool", "content": "paid"},
        {"turn_idx": 3, "role": "assistant", "content": null, "tool_calls": [{"name": "pay", "arguments": {}}]},
        {"turn_idx": 4, "role": "tool", "content": "paid"},
        {"turn_idx": 5, "role": "assistant", "content": "Done."},
    ]);
    project.write("rows.jsonl", &lines(&[row]));
    imported(&project, &["rows.jsonl"]);
    let row = rows(&project, "e", "lab-m").remove(0);
    assert_eq!(row["transcript"][4]["tool_call_id"], "call_2");
    let ran = valid(&project, "e");
    assert!(!ran.out.contains("is not answered"), "{}", ran.out);
}

#[test]
fn arguments_that_could_not_be_parsed_are_what_the_model_wrote() {
    let project = Project::new();
    let calls = [
        "Error parsing the following tool call arguments:\n\n{\"to\": oops\n\nError details: Expecting value",
        "the arguments are a list, not an object: [1, \": 2\"]",
        "something else",
    ];
    let calls: Vec<_> = calls
        .iter()
        .zip(1..)
        .map(|(why, id)| json!({"id": format!("c{id}"), "function": "pay", "arguments": {}, "parse_error": why}))
        .collect();
    let messages = json!([
        {"role": "user", "content": "Pay it."},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "assistant", "content": "Done."},
    ]);
    let mut one = sample(json!(1), messages);
    // Of several replies the first is the message.
    one["output"] = json!({"choices": [{"stop_reason": "max_tokens"}, {"stop_reason": "stop"}]});
    project.write("log.json", &log(&[one]).to_string());
    imported(&project, &["log.json"]);
    let row = rows_of_log(&project).remove(0);
    let arguments: Vec<_> = row["transcript"][1]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["function"]["arguments"].clone())
        .collect();
    assert_eq!(
        arguments,
        ["{\"to\": oops", "[1, \": 2\"]", "something else"]
    );
    assert_eq!(row["transcript"][2]["finish_reason"], "length");
    // And again from our own log.
    project.succeeds(&["export", "inspect", "t", "--out", "own"]);
    imported(&project, &["own", "--as", "again"]);
    assert_eq!(
        rows(&project, "again", "m")[0]["transcript"],
        row["transcript"]
    );
}

#[test]
fn keys_that_exports_need_stand_once() {
    let project = Project::new();
    let mut one = sample(json!(1), hello());
    let keys = [
        "benchmark",
        "calls",
        "started",
        "ended",
        "system_prompt",
        "usage",
        "target_id",
    ];
    let mut metadata = json!({"level": 3});
    for key in keys {
        metadata[key] = json!("theirs");
    }
    one["metadata"] = metadata.clone();
    project.write("log.json", &log(&[one]).to_string());
    imported(&project, &["log.json"]);
    let row = rows_of_log(&project).remove(0);
    assert_eq!(row["level"], 3);
    for key in keys {
        assert_eq!(row["imported"]["metadata"][key], "theirs", "{key}");
    }
    project.succeeds(&["export", "jsonl", "t", "--out", "lines"]);
    let line = project.read("lines/conversations.jsonl");
    for key in ["benchmark", "calls", "started", "system_prompt"] {
        let count = line.matches(&format!("\"{key}\":")).count();
        // A second time under `imported`.
        assert!(count <= 2, "{key}: {line}");
    }
    assert_eq!(
        serde_json::from_str::<Value>(&line).unwrap()["benchmark"],
        "t"
    );

    // Written by hand, they are called otherwise, and come back as they were.
    let mut own = row;
    for key in keys {
        own[key] = json!("mine");
    }
    own["imported"] = Value::Null;
    project.write(
        "benchmarks/t/runs/m/conversations.json",
        &json!([own]).to_string(),
    );
    project.succeeds(&["export", "jsonl", "t", "--out", "lines"]);
    let line = project.read("lines/conversations.jsonl");
    for key in ["benchmark", "calls", "system_prompt"] {
        assert_eq!(line.matches(&format!("\"{key}\":")).count(), 1, "{line}");
        assert!(
            line.contains(&format!("\"scenario.{key}\":\"mine\"")),
            "{line}"
        );
    }
    project.succeeds(&["export", "inspect", "t", "--out", "own"]);
    let mut args = vec!["import", "own", "--as", "again"];
    args.extend(FLATTERY);
    project.succeeds(&args);
    for key in ["calls", "usage", "target_id"] {
        assert_eq!(rows(&project, "again", "m")[0][key], "mine", "{key}");
    }
}

#[test]
fn other_json_beside_logs_is_passed_over() {
    let project = Project::new();
    project.write(
        "logs/a.json",
        &log(&[sample(json!(1), hello())]).to_string(),
    );
    project.write(
        "logs/package.json",
        r#"{"name": "x", "version": "1.0.0", "scripts": {"eval": "inspect eval"}}"#,
    );
    let report = imported(&project, &["logs"]);
    assert_eq!(report["files"].as_array().unwrap().len(), 1, "{report}");
}

/// A log that Inspect wrote: see `fixtures/import/README.md`.
#[test]
fn the_output_of_a_sample_without_a_reply_is_the_reply() {
    let project = Project::new();
    let log = fixture("outputs.eval");
    let imported = project.run(&[
        "import",
        "inspect",
        &log,
        "--verdicts",
        "includes=correct",
        "--as",
        "o",
    ]);
    // One sample says nothing.
    assert_eq!(imported.code, 1, "{}", imported.err);
    let folder = std::fs::read_dir(project.path("benchmarks/o/runs")).unwrap();
    let target = folder
        .map(|entry| entry.unwrap().file_name())
        .next()
        .unwrap();
    let target = target.to_str().unwrap();
    let rows = rows(&project, "o", target);
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            let last = row["transcript"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()
                .clone();
            json!([
                last["role"],
                last["content"],
                last["finish_reason"],
                row["error"].is_null()
            ])
        })
        .collect();
    assert_eq!(
        said,
        [
            json!(["assistant", "Paris, of course.", null, true]),
            json!(["user", "Which city is the capital of it?", null, false]),
            json!(["assistant", "Madrid is the", "length", true]),
        ]
    );
}
