//! Which samples imported files hold, and what judging them takes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use common::Project;
use exports::{content, json_of};
use imports::{golden, imported, instance, lines, log, rows, said, sample};
use serde_json::{Value, json};

/// The id, the repetition and the first words of each row.
fn reported(rows: &[Value]) -> Vec<Value> {
    rows.iter()
        .map(|row| json!([row["id"], row["sample"], row["transcript"][0]["content"]]))
        .collect()
}

#[test]
fn questions_that_share_an_id_are_samples_of_their_own() {
    let project = Project::new();
    let row = |name: &str, asked: &str, answer: &str| {
        let mut row = instance();
        row["evaluation_name"] = name.into();
        row["input"]["raw"] = asked.into();
        row["messages"] = said(&[("user", asked), ("assistant", answer)]);
        row
    };
    let anatomy = row("quiz.anatomy", "How many bones?", "206");
    let law = row("quiz.law", "What is a tort?", "A wrong.");
    project.write(
        "logs/a.jsonl",
        &lines(&[
            anatomy.clone(),
            law.clone(),
            row("quiz.law", "What is a tort?", "A cake."),
        ]),
    );
    // Another model, and the other way round: a question keeps its number.
    let of_other = |mut row: Value| {
        row["model_id"] = "lab/other".into();
        row["evaluation_id"] = "e/other/1".into();
        row
    };
    project.write("logs/b.jsonl", &lines(&[of_other(law), of_other(anatomy)]));
    let report = imported(&project, &["eee", "logs", "--as", "quiz"]);
    assert_eq!(report["scenarios"], 2, "{report}");
    let bones = "How many bones?";
    let tort = "What is a tort?";
    assert_eq!(
        reported(&rows(&project, "quiz", "lab-m")),
        [
            json!(["m01_s001_v01", 0, bones]),
            json!(["m01_s002_v01", 0, tort]),
            json!(["m01_s002_v01", 1, tort]),
        ]
    );
    assert_eq!(
        reported(&rows(&project, "quiz", "lab-other")),
        [
            json!(["m01_s001_v01", 0, bones]),
            json!(["m01_s002_v01", 0, tort]),
        ]
    );
}

#[test]
fn shards_of_a_run_begin_each_sample_at_its_first() {
    let project = Project::new();
    let shard = |name: &str, ids: &[u32]| {
        let samples: Vec<Value> = ids
            .iter()
            .map(|id| {
                sample(
                    json!(id),
                    said(&[("user", &id.to_string()), ("assistant", "Yes")]),
                )
            })
            .collect();
        let mut log = log(&samples);
        log["eval"]["eval_id"] = name.into();
        project.write(&format!("logs/{name}.json"), &log.to_string());
    };
    shard("a", &[1]);
    shard("b", &[2, 1]);
    shard("c", &[2]);
    imported(&project, &["logs", "--as", "whole"]);
    assert_eq!(
        reported(&rows(&project, "whole", "m")),
        [
            json!(["m01_s001_v01", 0, "1"]),
            json!(["m01_s001_v01", 1, "1"]),
            json!(["m01_s002_v01", 0, "2"]),
            json!(["m01_s002_v01", 1, "2"]),
        ]
    );
}

#[test]
fn two_targets_of_one_model_are_two() {
    let project = golden();
    // The two targets of the run are one model to the endpoint.
    for target in ["scripted-agreeable", "scripted-careful"] {
        let path = format!("benchmarks/sycophancy/runs/{target}/conversations.json");
        let text = project.read(&path);
        let mut rows: Vec<Value> = serde_json::from_str(&text).unwrap();
        for row in &mut rows {
            row["target"]["model"] = "lab/m".into();
        }
        project.write(&path, &Value::from(rows).to_string());
    }
    for target in ["scripted-agreeable", "scripted-careful"] {
        let to = ["--target", target, "--out", "eee"];
        let mut args = vec!["export", "eee", "sycophancy"];
        args.extend(to);
        project.succeeds(&args);
    }
    // Two exports that know nothing of each other name a run by benchmark, model and time.
    let mut ids = Vec::new();
    for (name, text) in content(&project.path("eee")) {
        let Some(text) = String::from_utf8(text)
            .ok()
            .filter(|_| name.ends_with(".jsonl"))
        else {
            continue;
        };
        let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let id = row["evaluation_id"].as_str().unwrap().to_owned();
        project.write(
            &format!("eee/{name}"),
            &text.replace(&id, "sycophancy/lab/m/1"),
        );
        ids.push(id);
        // The checksum is that of the rows as they were.
        let aggregate = format!("eee/{}", name.replace("_samples.jsonl", ".json"));
        let mut reported: Value = serde_json::from_str(&project.read(&aggregate)).unwrap();
        reported["detailed_evaluation_results"]["checksum"] = Value::Null;
        project.write(&aggregate, &reported.to_string());
    }
    assert_eq!(ids.len(), 2, "{ids:?}");
    let ran = project.succeeds(&["import", "eee", "eee", "--as", "back", "--json"]);
    let report = json_of(&ran);
    assert_eq!(report["conversations"], 16, "{report}");
    for target in ["scripted-agreeable", "scripted-careful"] {
        let texts = |benchmark: &str| -> Vec<Value> {
            let rows = rows(&project, benchmark, target);
            rows.iter().map(|row| row["transcript"].clone()).collect()
        };
        assert_eq!(texts("sycophancy"), texts("back"));
    }
}

#[test]
fn a_plan_of_judging_counts_calls_of_tools() {
    let project = Project::new();
    let tokens = |name: &str, note: &str| {
        let arguments = json!({ "note": note });
        let call =
            json!({"id": "c", "function": "write", "arguments": arguments, "type": "function"});
        let messages = json!([
            {"role": "user", "content": "Write it down."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "done", "tool_call_id": "c", "function": "write"},
            {"role": "assistant", "content": "It is written."},
        ]);
        let file = format!("{name}.json");
        project.write(&file, &log(&[sample(json!(1), messages)]).to_string());
        imported(&project, &[&file, "--as", name]);
        let ran = project.succeeds(&["evaluate", name, "--dry-run", "--json"]);
        json_of(&ran)["rows"][0]["input_tokens"]["low"]
            .as_u64()
            .unwrap()
    };
    let long = "word".repeat(1000);
    assert_eq!(tokens("long", &long) - tokens("short", ""), 1000);
}
