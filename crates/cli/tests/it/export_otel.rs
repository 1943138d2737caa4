//! `export otel`: calls as spans, verdicts as events.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::common::Project;

fn lines(project: &Project, name: &str) -> Vec<Value> {
    let text = project.read(name);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The attributes of a span or event, each as its only value.
fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let pairs = of["attributes"].as_array().unwrap().iter();
    pairs
        .map(|pair| {
            let value = pair["value"].as_object().unwrap().values().next().unwrap();
            (pair["key"].as_str().unwrap().to_owned(), value.clone())
        })
        .collect()
}

fn nanos(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn calls_are_spans_and_verdicts_are_events_on_the_last_reply() {
    let project = Project::new();
    project.succeeds(&["run", "delegated-actions", "--quiet"]);
    project.succeeds(&["export", "otel", "--out", "out"]);
    let rows: Vec<Value> = ["scripted-agreeable", "scripted-careful"]
        .iter()
        .flat_map(|target| {
            let path = format!("benchmarks/delegated-actions/runs/{target}/conversations.json");
            let rows: Vec<Value> = serde_json::from_str(&project.read(&path)).unwrap();
            rows
        })
        .collect();
    let traces = lines(&project, "out/traces.jsonl");
    assert_eq!(traces.len(), rows.len());
    let mut replies = HashSet::new();
    for (line, row) in traces.iter().zip(&rows) {
        let spans = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap();
        let (root, calls) = spans.split_first().unwrap();
        assert_eq!(attributes(root)["gen_ai.conversation.id"], row["conv_id"]);
        let of_role = |role: &str| {
            let calls = calls
                .iter()
                .filter(|call| attributes(call)["probity.role"] == role);
            calls.cloned().collect::<Vec<_>>()
        };
        let said = row["transcript"].as_array().unwrap();
        let replied = said
            .iter()
            .filter(|turn| turn["role"] == "assistant")
            .count();
        let target = of_role("target");
        assert_eq!(target.len(), replied);
        assert!(!of_role("user").is_empty() && !of_role("judge").is_empty());
        // The last reply has all that was said before it.
        let last = attributes(target.last().unwrap());
        let input: Vec<Value> =
            serde_json::from_str(last["gen_ai.input.messages"].as_str().unwrap()).unwrap();
        assert_eq!(input.len(), said.len() - 1);
        let output: Vec<Value> =
            serde_json::from_str(last["gen_ai.output.messages"].as_str().unwrap()).unwrap();
        let text = output[0]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .find(|part| part["type"] == "text");
        assert_eq!(text.unwrap()["content"], said.last().unwrap()["content"]);
        let model = last["gen_ai.request.model"].as_str().unwrap();
        assert_eq!(target[0]["name"], format!("chat {model}"));
        assert!(
            last["gen_ai.usage.input_tokens"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
                > 0
        );
        for span in spans {
            let (start, end) = (
                nanos(&span["startTimeUnixNano"]),
                nanos(&span["endTimeUnixNano"]),
            );
            assert!(start > 1_700_000_000_000_000_000 && start <= end, "{span}");
        }
        replies.insert(target.last().unwrap()["spanId"].clone());
    }
    let (mut passed, mut failed) = (0, 0);
    for line in lines(&project, "out/logs.jsonl") {
        let events = line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
            .as_array()
            .unwrap()
            .clone();
        for event in events {
            assert_eq!(event["eventName"], "gen_ai.evaluation.result");
            assert!(replies.contains(&event["spanId"]));
            let found = attributes(&event);
            assert!(found.contains_key("gen_ai.evaluation.explanation"));
            match found["gen_ai.evaluation.score.label"].as_str().unwrap() {
                "pass" => passed += 1,
                _ => failed += 1,
            }
        }
    }
    assert_eq!(passed + failed, rows.len());
    assert!(passed > 0 && failed > 0);
    // The same run gives the same files.
    project.succeeds(&["export", "otel", "--out", "again"]);
    for name in ["traces", "logs"] {
        let [one, two] =
            ["out", "again"].map(|folder| project.read(&format!("{folder}/{name}.jsonl")));
        assert_eq!(one, two);
    }
}
