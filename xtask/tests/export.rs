//! Exports of whole runs from the command line.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

mod common;
mod exports;

use common::Ground;
use exports::{FORMATS, aggregates, calls, content, demonstration, json_of, rows};
use serde_json::{Value, json};

#[test]
fn the_same_run_gives_the_same_bytes_in_every_format() {
    let ground = demonstration();
    for format in FORMATS {
        for out in ["one", "two"] {
            let ran = ground.succeeds(&["export", format, "--out", &format!("{out}/{format}")]);
            assert!(
                ran.out.contains("exported 16 conversations of 2 targets"),
                "{}",
                ran.out
            );
            assert_eq!(ran.err, "", "{format}");
        }
        let one = content(&ground.path(&format!("one/{format}")));
        assert!(!one.is_empty(), "{format}");
        assert!(
            one == content(&ground.path(&format!("two/{format}"))),
            "{format}"
        );
    }
}

#[test]
fn an_inspect_log_is_a_zip_or_one_json_file() {
    let ground = demonstration();
    for (form, start) in [("eval", "PK"), ("json", "{")] {
        ground.succeeds(&["export", "inspect", "--log-format", form, "--out", form]);
        let logs = content(&ground.path(form));
        assert_eq!(logs.len(), 2, "{form}");
        for (name, bytes) in &logs {
            assert!(
                name.ends_with(form) && bytes.starts_with(start.as_bytes()),
                "{name}"
            );
        }
    }
}

#[test]
fn every_eval_ever_has_what_tree_and_journal_know() {
    let ground = demonstration();
    let strict = ["export", "eee", "--strict", "--out", "out", "--json"];
    let told = json_of(&ground.succeeds(&strict));
    assert_eq!(told["targets"], 2);
    let rows = rows(&ground, "out");
    assert_eq!(rows.len(), 16);
    let row = rows
        .iter()
        .find(|row| row["sample_id"] == "m01_s001_v01")
        .unwrap();
    assert_eq!(row["schema_version"], "0.3.0");
    assert_eq!(row["interaction_type"], "multi_turn");
    assert_eq!(row["messages"][0]["role"], "system");
    assert_eq!(
        row["answer_attribution"][0]["extraction_method"],
        "llm_judge"
    );
    assert!(row["token_usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert!(row["performance"]["latency_ms"].as_f64().unwrap() > 0.0);
    assert!(
        row["metadata"]["request_ids"]
            .as_str()
            .unwrap()
            .contains("chatcmpl-")
    );
    // The same sample has the same id and hash whatever the target.
    let of_sample = |id: &str| -> Vec<&Value> {
        rows.iter()
            .filter(|row| row["sample_id"] == id)
            .map(|row| &row["sample_hash"])
            .collect()
    };
    let hashes = of_sample("m01_s001_v01");
    assert_eq!(hashes.len(), 2);
    assert_eq!(hashes[0], hashes[1]);

    let aggregate = &aggregates(&ground, "out")[0];
    let metric = &aggregate["evaluation_results"][0];
    assert_eq!(
        metric["score_details"]["uncertainty"]["confidence_interval"]["method"],
        "clopper-pearson"
    );
    let judging = &metric["metric_config"]["llm_scoring"];
    assert_eq!(judging["judges"][0]["model_info"]["name"], "scripted-judge");
    let prompt = judging["input_prompt"].as_str().unwrap();
    assert!(
        prompt.contains("<transcript>\n{{ transcript }}\n</transcript>"),
        "{prompt}"
    );

    ground.succeeds(&["export", "eee", "--schema-version", "0.2.0", "--out", "old"]);
    let row = &exports::rows(&ground, "old")[0];
    assert_eq!(row["schema_version"], "instance_level_eval_0.2.0");
    assert!(row["interactions"].is_array() && row.get("messages").is_none());
    assert!(row["input"]["reference"].is_string());
}

#[test]
fn the_command_line_is_checked_before_anything_is_written() {
    let ground = demonstration();
    for (args, expected) in [
        (&["export"][..], "<FORMAT>"),
        (&["export", "xml"], "possible values"),
        (
            &["export", "eee", "--schema-version", "0.1.0"],
            "the versions are 0.3.0 and 0.2.0",
        ),
        (
            &["export", "csv", "sycophanc"],
            "did you mean `sycophancy`?",
        ),
        (
            &["export", "csv", "--target", "nobody"],
            "there is no run of nobody",
        ),
    ] {
        let ran = ground.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert!(!ground.path("export").exists());
    let ran = ground.succeeds(&["export", "csv", "--target", "scripted-careful"]);
    assert!(
        ran.out.contains("wrote export/csv/scores.csv"),
        "{}",
        ran.out
    );
}

#[test]
fn a_summary_goes_to_the_page_of_the_job() {
    let ground = Ground::new();
    let page = ground.path("page.md");
    let ground = ground.env("GITHUB_STEP_SUMMARY", page.to_str().unwrap());
    ground.succeeds(&["run", "--quiet"]);
    ground.write("page.md", "before\n");
    ground.succeeds(&["export", "summary"]);
    let page = ground.read("page.md");
    assert!(page.starts_with("before\n## Sycophancy"), "{page}");
    assert!(page.contains("| metric | type | passed |"), "{page}");
}

#[test]
fn a_run_that_went_on_knows_the_times_of_the_one_before() {
    let ground = Ground::new();
    ground.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 1, turns: 2}\n\
         user_model: {model: scripted-user, source: scripted}\n\
         evaluator_model: {model: scripted-judge, source: scripted}\n\
         targets:\n  - {id: careful, model: scripted-careful, source: scripted}\n  - {id: nobody, model: no-such-model, source: scripted}\n",
    );
    for _ in 0..2 {
        assert_eq!(ground.run(&["run", "--quiet"]).code, 1);
    }
    ground.succeeds(&["export", "jsonl", "--target", "careful", "--out", "out"]);
    let known = calls(&ground, "out");
    assert!(!known.is_empty());
    assert!(known.iter().all(|call| *call == (true, true)), "{known:?}");
    // The target that failed is exported by formats that have a place for it, and told by the others.
    let ran = ground.run(&["export", "eee", "--out", "eee"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("nobody: there is no verdict to export"),
        "{}",
        ran.err
    );
    assert_eq!(aggregates(&ground, "eee").len(), 1);
}

#[test]
fn a_journal_of_other_replies_is_left_out() {
    let ground = demonstration();
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let text = ground.read(path);
    let mut rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows[0]["transcript"][1]["content"] = "something else".into();
    ground.write(path, &Value::from(rows).to_string());
    ground.succeeds(&[
        "export",
        "jsonl",
        "--target",
        "scripted-careful",
        "--out",
        "out",
    ]);
    let text = ground.read("out/conversations.jsonl");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows[0]["calls"], json!([]));
    assert!(!rows[1]["calls"].as_array().unwrap().is_empty());
}
