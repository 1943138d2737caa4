//! Files that are odd, and are imported as far as they go.
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
use imports::{
    header, hello, import, imported, instance, lines, log, rows_at, said, sample, with, zip_of,
};
use serde_json::{Value, json};

#[test]
fn what_cannot_be_judged_is_a_row_with_an_error() {
    let project = Project::new();
    let mut failed = sample(json!("d"), hello());
    failed["error"] = json!({"message": "the sandbox is gone", "traceback": "t"});
    project.write(
        "log.json",
        &log(&[
            sample(json!("a"), json!([])),
            sample(json!("b"), said(&[("system", "S"), ("user", "Hi")])),
            // Both of them as they are: the judge reads them.
            sample(
                json!("c"),
                said(&[
                    ("assistant", "Hello"),
                    ("user", "Hi"),
                    ("user", "You?"),
                    ("system", "Now."),
                    ("assistant", ""),
                ]),
            ),
            failed,
        ])
        .to_string(),
    );
    let ran = import(&project, &["log.json", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(report["targets"][0]["failed"], 3);
    let rows = rows_at(&project, "benchmarks/t/runs/m/conversations.json");
    assert_eq!(
        rows[0]["error"],
        "the file has no messages of this conversation"
    );
    assert_eq!(
        rows[1]["error"],
        "the target says nothing in this conversation"
    );
    assert_eq!(rows[1]["target_system_prompt"], "S");
    assert_eq!(rows[2].get("error"), None);
    let roles: Vec<_> = rows[2]["transcript"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["role"].clone())
        .collect();
    assert_eq!(roles, ["assistant", "user", "user", "system", "assistant"]);
    assert_eq!(rows[3]["error"], "the sandbox is gone");
    assert_eq!(rows[3]["transcript"].as_array().unwrap().len(), 2);
    // The one that can be judged is.
    let ran = project.run(&["evaluate", "t", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(json_of(&ran)["benchmarks"][0]["journal"]["check"], "passed");
}

#[test]
fn samples_that_stand_twice_are_left_out_with_a_word() {
    let project = Project::new();
    let other = said(&[("user", "Hi"), ("assistant", "Other")]);
    project.write(
        "log.json",
        &log(&[
            sample(json!(1), hello()),
            sample(json!("1"), other),
            sample(json!(2), hello()),
        ])
        .to_string(),
    );
    let ran = import(&project, &["log.json", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(report["conversations"], 2);
    assert_eq!(report["left_out"][0]["count"], 1);
    assert!(
        ran.err.contains("duplicate sample and repetition"),
        "{}",
        ran.err
    );
    let rows = rows_at(&project, "benchmarks/t/runs/m/conversations.json");
    assert_eq!(rows[0]["transcript"][1]["content"], "Hello");

    // Rows of one conversation, scored for two results; then what may be two repetitions.
    let scored = |result: &str, score: f64, said: &str| {
        let mut row = with("evaluation_result_id", json!(result));
        row["evaluation"]["score"] = json!(score);
        row["messages"][1]["content"] = json!(said);
        row
    };
    project.write(
        "rows.jsonl",
        &lines(&[
            scored("a", 1.0, "x"),
            scored("b", 0.0, "x"),
            scored("a", 1.0, "y"),
            scored("a", 1.0, "x"),
        ]),
    );
    let report = imported(&project, &["rows.jsonl"]);
    assert_eq!(report["conversations"], 3, "{report}");
    let rows = rows_at(&project, "benchmarks/e/runs/lab-m/conversations.json");
    let scores = rows[0]["imported"]["scores"].as_array().unwrap();
    assert_eq!(
        scores
            .iter()
            .map(|score| score["score"].clone())
            .collect::<Vec<_>>(),
        [1.0, 0.0]
    );
    assert_eq!(
        rows.iter()
            .map(|row| row["sample"].clone())
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
}

#[test]
fn odd_texts_and_numbers_pass() {
    let project = Project::new();
    let text = log(&[sample(
        json!(1),
        said(&[
            ("user", "NUL \0 and \u{2028}\u{85}"),
            ("assistant", "HALF é"),
        ]),
    )]);
    let text = text.to_string().replace("HALF", "\\ud83d").replace(
        "\"epoch\":1",
        "\"epoch\":1,\"scores\":{\"s\":{\"value\":NaN},\"t\":{\"value\":-Infinity}}",
    );
    project.write("log.json", &format!("\u{feff}{text}"));
    let report = imported(&project, &["inspect", "log.json"]);
    assert_eq!(
        report["notes"],
        json!(["1 lone half of a surrogate pair became U+FFFD"])
    );
    let row = rows_at(&project, "benchmarks/t/runs/m/conversations.json").remove(0);
    assert_eq!(row["transcript"][0]["content"], "NUL \0 and \u{2028}\u{85}");
    assert_eq!(row["transcript"][1]["content"], "\u{fffd} é");
    assert_eq!(
        row["imported"]["scores"],
        json!([{"name": "s"}, {"name": "t"}])
    );

    let row = instance()
        .to_string()
        .replace("1.0,", "NaN,")
        .replace("Hello", "\\udc00 \u{2028}");
    project.write("rows.jsonl", &format!("{row}\n"));
    imported(&project, &["eee", "rows.jsonl"]);
    let row = rows_at(&project, "benchmarks/e/runs/lab-m/conversations.json").remove(0);
    assert_eq!(row["transcript"][1]["content"], "\u{fffd} \u{2028}");
    assert_eq!(row["imported"]["scores"][0].get("score"), None);

    // Names of models that are no names of folders.
    for (n, model) in [
        "../../etc/passwd",
        "a:b c",
        "模型",
        "nul\u{0}\u{2028}",
        "  x  ",
    ]
    .iter()
    .enumerate()
    {
        let mut log = log(&[sample(json!(1), hello())]);
        log["eval"]["model"] = json!(model);
        log["eval"]["eval_id"] = json!(n);
        log["eval"]["eval_id"] = json!(format!("e{n}"));
        project.write(&format!("models/{n}.json"), &log.to_string());
    }
    let report = imported(&project, &["models", "--as", "models"]);
    let ids: Vec<_> = report["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| target["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a-b-c", "etc-passwd", "model", "nul", "x"]);
    assert_eq!(report["targets"][1]["model"], "../../etc/passwd");
}

#[test]
fn a_single_question_is_a_conversation() {
    let project = Project::new();
    let mut old = with("schema_version", json!("instance_level_eval_0.2.0"));
    old["messages"] = Value::Null;
    old["sample_id"] = json!(7);
    old["input"] =
        json!({"raw": "Hi", "reference": "x", "formatted": "SYSTEM: Be kind.\n\nUSER: Hi"});
    old["output"] = json!({"raw": "Hello"});
    let mut new = instance();
    new["messages"] = Value::Null;
    new["output"] = json!({"raw": ["One", "Two"], "reasoning_trace": ["hm"]});
    new["metadata"] = json!({"subject": "greetings", "id": "mine"});
    new["error"] = json!("slow");
    let mut silent = instance();
    silent["sample_id"] = json!("s2");
    silent["messages"] = json!([]);
    project.write("rows.jsonl", &lines(&[old, new, silent]));
    let ran = import(&project, &["rows.jsonl"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let rows = rows_at(&project, "benchmarks/e/runs/lab-m/conversations.json");
    assert_eq!(rows[0]["transcript"], hello());
    assert_eq!(rows[0]["target_system_prompt"], "Be kind.");
    assert_eq!(rows[0]["imported"]["sample_id"], "7");
    assert_eq!(
        rows[1]["transcript"],
        json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "One\n\nTwo", "reasoning": "hm"}])
    );
    assert_eq!(rows[1]["subject"], "greetings");
    assert_eq!(
        rows[1]["imported"]["metadata"],
        json!({"id": "mine", "error": "slow"})
    );
    assert_eq!(
        rows[2]["error"],
        "the target says nothing in this conversation"
    );
}

#[test]
fn a_log_that_did_not_end_is_taken_as_far_as_it_goes() {
    let project = Project::new();
    let one = sample(json!(1), hello()).to_string();
    let start =
        json!({"version": 2, "eval": {"eval_id": "e", "task": "t", "model": "m"}, "plan": {}})
            .to_string();
    zip_of(
        &project,
        "run.eval",
        &[
            ("_journal/start.json", start.as_bytes()),
            ("samples/1_epoch_1.json", one.as_bytes()),
        ],
    );
    let report = imported(&project, &["run.eval"]);
    assert_eq!(report["conversations"], 1);
    assert!(
        report["notes"][0].as_str().unwrap().contains("did not end"),
        "{report}"
    );
}

#[test]
fn names_in_a_zip_are_no_paths() {
    let project = Project::new();
    let one = sample(json!("../../../evil"), hello()).to_string();
    zip_of(
        &project,
        "names.eval",
        &[
            ("../header.json", b"{}"),
            ("header.json", &header()),
            ("samples/../../../evil_epoch_1.json", one.as_bytes()),
            ("/samples/x.json", b"{}"),
        ],
    );
    let report = imported(&project, &["names.eval"]);
    assert_eq!(report["conversations"], 1);
    assert_eq!(
        rows_at(&project, "benchmarks/t/runs/m/conversations.json")[0]["imported"]["sample_id"],
        "../../../evil"
    );
    let names: Vec<_> = project
        .files()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("evil"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}
