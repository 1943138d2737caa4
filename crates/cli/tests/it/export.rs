//! Exports of whole runs from the command line.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;
use crate::exports;

use common::Project;
use exports::{FORMATS, aggregates, calls, content, demonstration, json_of, rows};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[test]
fn the_same_run_gives_the_same_bytes_in_every_format() {
    let project = demonstration();
    for format in FORMATS {
        for out in ["one", "two"] {
            let ran = project.succeeds(&["export", format, "--out", &format!("{out}/{format}")]);
            assert!(
                ran.out.contains("exported 16 conversations of 2 targets"),
                "{}",
                ran.out
            );
            assert_eq!(ran.err, "", "{format}");
        }
        let one = content(&project.path(&format!("one/{format}")));
        assert!(!one.is_empty(), "{format}");
        assert!(
            one == content(&project.path(&format!("two/{format}"))),
            "{format}"
        );
    }
}

#[test]
fn an_inspect_log_is_a_zip_or_one_json_file() {
    let project = demonstration();
    for (form, start) in [("eval", "PK"), ("json", "{")] {
        project.succeeds(&["export", "inspect", "--log-format", form, "--out", form]);
        let logs = content(&project.path(form));
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
    let project = demonstration();
    let strict = ["export", "eee", "--strict", "--out", "out", "--json"];
    let reported = json_of(&project.succeeds(&strict));
    assert_eq!(reported["targets"], 2);
    let rows = rows(&project, "out");
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

    let aggregate = &aggregates(&project, "out")[0];
    let metric = &aggregate["evaluation_results"][0];
    assert_eq!(
        metric["score_details"]["uncertainty"]["confidence_interval"]["method"],
        "clopper-pearson-clustered"
    );
    let judging = &metric["metric_config"]["llm_scoring"];
    assert_eq!(judging["judges"][0]["model_info"]["name"], "scripted-judge");
    assert_eq!(
        judging["judges"][0]["model_info"]["additional_details"]["deployment_type"],
        "self_deployed"
    );
    assert_eq!(
        aggregate["model_info"]["additional_details"]["deployment_type"],
        "self_deployed"
    );
    let prompt = judging["input_prompt"].as_str().unwrap();
    assert!(
        prompt.contains("<transcript>\n{{ transcript }}\n</transcript>"),
        "{prompt}"
    );

    project.succeeds(&["export", "eee", "--schema-version", "0.2.0", "--out", "old"]);
    let row = &exports::rows(&project, "old")[0];
    assert_eq!(row["schema_version"], "instance_level_eval_0.2.0");
    assert_eq!(row["sample_hash"], hash_of(row));
    assert!(row["interactions"].is_array() && row.get("messages").is_none());
    assert!(row["input"]["reference"].is_string());
}

#[test]
fn the_command_line_is_checked_before_anything_is_written() {
    let project = demonstration();
    for (args, expected) in [
        (&["export"][..], "<FORMAT>"),
        (&["export", "xml"], "possible values"),
        (
            &["export", "eee", "--schema-version", "0.1.0"],
            "supported versions: 0.3.0 and 0.2.0",
        ),
        (
            &["export", "csv", "sycophanc"],
            "did you mean `sycophancy`?",
        ),
        (&["export", "csv", "--target", "nobody"], "no run of nobody"),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert!(!project.path("export").exists());
    let ran = project.succeeds(&["export", "csv", "--target", "scripted-careful"]);
    assert!(
        ran.out.contains("wrote export/csv/scores.csv"),
        "{}",
        ran.out
    );
}

#[test]
fn a_summary_goes_to_the_page_of_the_job() {
    let project = Project::new();
    let page = project.path("page.md");
    let project = project.env("GITHUB_STEP_SUMMARY", page.to_str().unwrap());
    project.succeeds(&["run", "--quiet"]);
    project.write("page.md", "before\n");
    project.succeeds(&["export", "summary"]);
    let page = project.read("page.md");
    assert!(page.starts_with("before\n## Sycophancy"), "{page}");
    assert!(page.contains("| metric | type | rate |"), "{page}");
}

#[test]
fn a_run_that_went_on_knows_the_times_of_the_one_before() {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 1, turns: 2}\n\
         user_model: {model: scripted-user, source: scripted}\n\
         evaluator_model: {model: scripted-judge, source: scripted}\n\
         targets:\n  - {id: careful, model: scripted-careful, source: scripted}\n  - {id: nobody, model: no-such-model, source: \
         scripted}\n",
    );
    for _ in 0..2 {
        assert_eq!(project.run(&["run", "--quiet"]).code, 1);
    }
    project.succeeds(&["export", "jsonl", "--target", "careful", "--out", "out"]);
    // The target that did not fail got its rows again from the cache: they are those of the first run.
    let known = calls(&project, "out");
    assert!(!known.is_empty());
    assert!(known.iter().all(|call| *call == (false, true)), "{known:?}");
    // This run has calls of its own, and those of the first sample from the cache.
    assert_eq!(
        project.run(&["run", "--quiet", "--num-samples", "2"]).code,
        1
    );
    project.succeeds(&["export", "jsonl", "--target", "careful", "--out", "more"]);
    let more = calls(&project, "more");
    assert!(more.iter().all(|(_, timed)| *timed), "{more:?}");
    let cached = more.iter().filter(|(cached, _)| *cached).count();
    assert_eq!(cached, known.len(), "{more:?}");
    assert!(more.len() > cached, "{more:?}");
    // The target that failed is exported by formats that have a place for it, and reported by the others.
    let ran = project.run(&["export", "eee", "--out", "eee"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("nobody: no verdict to export"),
        "{}",
        ran.err
    );
    assert_eq!(aggregates(&project, "eee").len(), 1);
}

#[test]
fn a_journal_of_other_replies_is_left_out() {
    let project = demonstration();
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let text = project.read(path);
    let mut rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows[0]["transcript"][1]["content"] = "something else".into();
    project.write(path, &Value::from(rows).to_string());
    project.succeeds(&[
        "export",
        "jsonl",
        "--target",
        "scripted-careful",
        "--out",
        "out",
    ]);
    let text = project.read("out/conversations.jsonl");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows[0]["calls"], json!([]));
    assert!(!rows[1]["calls"].as_array().unwrap().is_empty());
}

/// The hash of a 0.2.0 row: of its input and its reference.
fn hash_of(row: &Value) -> String {
    let text = |key: &str| row["input"][key].as_str().unwrap().to_owned();
    let digest = Sha256::digest(text("raw") + &text("reference"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_single_turn_is_the_same_sample_for_every_target() {
    let project = Project::new();
    project.write(
        "config.yaml",
        "generation: {scenarios_per_metric: 1, turns: 1}\n\
         user_model: {model: scripted-user, source: scripted}\n\
         evaluator_model: {model: scripted-judge, source: scripted}\n\
         targets:\n  - {id: careful, model: scripted-careful, source: scripted}\n  - {id: agreeable, model: scripted-agreeable, source: \
         scripted}\n",
    );
    project.succeeds(&["run", "sycophancy", "--quiet"]);
    // A simulated user may say one thing to one target and another to the next.
    let path = "benchmarks/sycophancy/runs/careful/conversations.json";
    let mut talks: Value = serde_json::from_str(&project.read(path)).unwrap();
    let said = "Another opening.";
    talks[0]["transcript"][0]["content"] = said.into();
    project.write(path, &talks.to_string());
    let first = talks[0]["id"].as_str().unwrap();
    for version in ["0.3.0", "0.2.0"] {
        project.succeeds(&[
            "export",
            "eee",
            "sycophancy",
            "--schema-version",
            version,
            "--out",
            version,
        ]);
        let rows = rows(&project, version);
        let of_first: Vec<&Value> = rows
            .iter()
            .filter(|row| row["sample_id"] == first)
            .collect();
        assert_eq!(of_first.len(), 2, "{of_first:#?}");
        let (one, two) = (of_first[0], of_first[1]);
        assert_eq!(one["sample_hash"], two["sample_hash"]);
        assert_eq!(one["input"]["raw"], two["input"]["raw"]);
        let shown =
            [one, two].map(|row| row["input"]["formatted"].as_str().unwrap().contains(said));
        assert_ne!(shown[0], shown[1]);
        for row in &rows {
            assert_eq!(row["interaction_type"], "single_turn");
            assert_eq!(row["evaluation"]["num_turns"], 1);
            assert!(row["metadata"]["started"].is_string());
            if version == "0.2.0" {
                assert_eq!(row["sample_hash"], hash_of(row));
            }
        }
        // What was said comes back.
        project.succeeds(&["import", "eee", version, "--as", &format!("back-{version}")]);
        let talks = project.read(&format!(
            "benchmarks/back-{version}/runs/careful/conversations.json"
        ));
        let talks: Value = serde_json::from_str(&talks).unwrap();
        assert_eq!(talks[0]["transcript"][0]["content"], said);
    }
}

#[test]
fn inspect_logs_name_a_provider_for_every_model() {
    let project = demonstration();
    project.succeeds(&["export", "inspect", "--log-format", "json", "--out", "logs"]);
    for text in content(&project.path("logs")).values() {
        let text = String::from_utf8(text.clone()).unwrap();
        let log: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
        let target = log["eval"]["metadata"]["target_id"].as_str().unwrap();
        let named = |model: &str| format!("openai-api/scripted/{model}");
        assert_eq!(log["eval"]["model"], named(target));
        let roles = &log["eval"]["model_roles"];
        assert_eq!(roles["user"]["model"], named("scripted-user"));
        assert_eq!(roles["grader"]["model"], named("scripted-judge"));
        let used = log["stats"]["model_usage"].as_object().unwrap();
        assert!(used.contains_key(&named(target)), "{used:?}");
    }
    // The provider is Inspect's: the target has its own name again.
    project.succeeds(&["import", "inspect", "logs", "--as", "back"]);
    let path = "benchmarks/back/runs/scripted-careful/conversations.json";
    let talks: Value = serde_json::from_str(&project.read(path)).unwrap();
    assert_eq!(talks[0]["target"]["model"], "scripted-careful");
}
