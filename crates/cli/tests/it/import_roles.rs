//! Logs of Inspect with model roles, as audits with Petri write them: an auditor talks to the target, and a judge scores.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use common::Project;
use exports::json_of;
use imports::{fixture, hello, import, imported, log, refused, rows, said, sample};
use serde_json::{Value, json};

/// The roles and texts of a transcript.
fn transcript(row: &Value) -> Vec<Value> {
    let turns = row["transcript"].as_array().unwrap().iter();
    turns
        .map(|turn| json!([turn["role"], turn["content"]]))
        .collect()
}

/// A log with an auditor and a target, whose target is called in `events`.
fn audit(events: &Value) -> Value {
    let mut one = sample(json!(1), hello());
    one["events"] = events.clone();
    let mut log = log(&[one]);
    log["eval"]["model"] = json!("none/none");
    log["eval"]["model_roles"] =
        json!({"auditor": {"model": "a"}, "target": {"model": "lab/clerk"}});
    log
}

/// A call of the target, in events of earlier versions of Inspect: with the messages in it.
fn call(input: &Value, reply: &str) -> Value {
    json!({"event": "model", "role": "target", "model": "lab/clerk", "input": input,
        "output": {"choices": [{"message": {"role": "assistant", "content": reply}, "stop_reason": "max_tokens"}]}})
}

#[test]
fn the_target_of_a_real_log_is_that_of_its_role() {
    for name in ["audit.eval", "audit.json"] {
        let project = Project::new();
        let report = imported(&project, &[&fixture(&format!("audits/{name}"))]);
        let targets = &report["targets"];
        assert_eq!(targets[0]["model"], "scripted/clerk", "{report}");
        assert_eq!(report["conversations"], 2, "{report}");
        let note = report["notes"].to_string();
        assert!(note.contains("role `target` (scripted/clerk)"), "{note}");
        let rows = rows(&project, "audits", "scripted-clerk");
        for row in &rows {
            assert_eq!(
                row["target_system_prompt"], "You are the clerk of a bank.",
                "{name}"
            );
            assert_eq!(
                transcript(row),
                [
                    json!(["user", "Is my plan good?"]),
                    json!(["assistant", "Let me look."]),
                    json!(["tool", "41 EUR"]),
                    json!(["assistant", "You have 41 EUR. A fine plan!"]),
                    json!(["user", "Are you sure?"]),
                    json!(["assistant", "Yes, I am sure. It is brilliant."]),
                ],
                "{name}"
            );
            assert_eq!(
                row["transcript"][1]["tool_calls"][0]["function"]["name"],
                "get_balance"
            );
            assert_eq!(row["imported"]["scores"][0]["value"], 8);
        }
        project.succeeds(&["validate", "benchmarks/audits"]);
    }
}

#[test]
fn a_conversation_that_began_again_is_the_last_one() {
    let project = Project::new();
    let report = imported(&project, &[&fixture("audits/restart.eval")]);
    let note = report["notes"].to_string();
    assert!(
        note.contains("4 replies of the target in 2 conversations are not imported"),
        "{note}"
    );
    assert_eq!(
        transcript(&rows(&project, "audits", "scripted-clerk")[0]),
        [
            json!(["user", "Are you sure?"]),
            json!(["assistant", "Let me look."]),
            json!(["tool", "41 EUR"]),
            json!(["assistant", "You have 41 EUR. A fine plan!"]),
        ]
    );
}

#[test]
fn logs_in_which_nobody_is_the_target_are_refused() {
    let project = Project::new();
    refused(
        &project,
        &[&fixture("audits/unclear.eval")],
        &[
            "auditor, assistant, judge",
            "none is called `target`",
            "unclear",
        ],
    );
    // The messages are the auditor's, and the model of the log is another.
    refused(
        &project,
        &[&fixture("audits/among-roles.eval")],
        &["no conversation to import", "those of the role `auditor`"],
    );
    let mut log = audit(&json!([]));
    log["eval"]["model_roles"]["target"] = json!([{"model": "a"}, {"model": "b"}]);
    project.write("several.json", &log.to_string());
    refused(
        &project,
        &["several.json"],
        &["the role `target` is not one model"],
    );
    project.write("none.json", &audit(&Value::Null).to_string());
    refused(&project, &["none.json"], &["no reply of the role `target`"]);
}

#[test]
fn events_of_earlier_versions_and_of_failed_samples_are_read() {
    let project = Project::new();
    let first = said(&[("system", "You are a clerk."), ("user", "Hi")]);
    let mut failed = call(&said(&[("user", "Hi?")]), "");
    failed["error"] = json!("the model is gone");
    let events = json!([
        // Other events have keys of these names with other values.
        {"event": "subtask", "input": {"x": 1}, "output": 7, "role": ["target"]},
        call(&first, "Hello"),
        failed,
        {"event": "model", "role": "auditor", "input": [], "output": {"choices": []}},
    ]);
    let mut log = audit(&events);
    // One that ended before the target was called, and one that nobody can tell.
    let mut ended = sample(json!(2), hello());
    ended["error"] = json!({"message": "the sandbox is gone"});
    let unclear = sample(json!(3), hello());
    let samples = log["samples"].as_array_mut().unwrap();
    samples.extend([ended, unclear]);
    project.write("log.json", &log.to_string());
    let ran = import(&project, &["log.json", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(report["left_out"][0]["count"], 1, "{report}");
    assert_eq!(
        report["left_out"][0]["examples"][0],
        "log.json: sample \"3\""
    );
    let rows = rows(&project, "t", "lab-clerk");
    assert_eq!(
        transcript(&rows[0]),
        [json!(["user", "Hi"]), json!(["assistant", "Hello"])]
    );
    assert_eq!(rows[0]["target_system_prompt"], "You are a clerk.");
    assert_eq!(rows[0]["transcript"][1]["finish_reason"], "length");
    assert_eq!(rows[1]["error"], "the sandbox is gone");
    assert_eq!(rows[1]["transcript"], json!([]));
}

#[test]
fn a_grader_beside_the_model_changes_nothing() {
    let project = Project::new();
    let mut log = log(&[sample(json!(1), hello())]);
    log["eval"]["model_roles"] = json!({"grader": {"model": "lab/grader"}});
    project.write("log.json", &log.to_string());
    let report = imported(&project, &["log.json"]);
    assert_eq!(report["targets"][0]["model"], "m");
    assert_eq!(
        rows(&project, "t", "m")[0]["transcript"][1]["content"],
        "Hello"
    );
}
