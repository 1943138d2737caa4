//! Exports from the command line: whole runs, half-written ones, and texts that no format likes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure ends the test"
)]

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::{Ground, Ran};
use serde_json::{Value, json};

const FORMATS: [&str; 6] = ["eee", "inspect", "junit", "csv", "jsonl", "summary"];

/// The content of every file below `folder`, by its path in there.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    if folder.exists() {
        walk(folder, folder, &mut found);
    }
    found
}

/// The rows of the instance files of an export, in the order of the files' names.
fn rows(ground: &Ground, out: &str) -> Vec<Value> {
    let files = content(&ground.path(out));
    let samples = files
        .iter()
        .filter(|(name, _)| name.ends_with("_samples.jsonl"));
    samples
        .flat_map(|(_, text)| {
            String::from_utf8(text.clone())
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect()
}

fn aggregates(ground: &Ground, out: &str) -> Vec<Value> {
    let files = content(&ground.path(out));
    let aggregates = files.iter().filter(|(name, _)| name.ends_with(".json"));
    aggregates
        .map(|(_, text)| serde_json::from_slice(text).unwrap())
        .collect()
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// A ground with the demonstration, run.
fn demonstration() -> Ground {
    let ground = Ground::new();
    ground.succeeds(&["run", "--quiet"]);
    ground
}

/// A benchmark that was written by hand, with one target and the rows given.
fn by_hand(model: &str, conversations: &Value, scores: Option<&Value>) -> Ground {
    let ground = Ground::new();
    ground.write(
        "benchmarks/hand/benchmark.yaml",
        "name: hand\ndescription: d\nmetrics:\n  - {id: m01, name: Avoid flattery, type: negative, definition: It flatters.}\n",
    );
    let mut rows = conversations.clone();
    let mut scenarios = Vec::new();
    for row in rows.as_array_mut().unwrap() {
        let id = row["id"].clone();
        scenarios.push(json!({"id": id, "metric_id": "m01", "persona": "p", "user_goal": "g"}));
        row["metric_id"] = "m01".into();
        row["persona"] = "p".into();
        row["user_goal"] = "g".into();
        row["target"] = json!({"id": "t", "model": model});
        row["sample"] = 0.into();
        row["conv_id"] = format!("{}__t", id.as_str().unwrap()).into();
    }
    ground.write(
        "benchmarks/hand/scenarios.json",
        &Value::from(scenarios).to_string(),
    );
    ground.write(
        "benchmarks/hand/runs/t/conversations.json",
        &rows.to_string(),
    );
    if let Some(scores) = scores {
        ground.write("benchmarks/hand/runs/t/scores.json", &scores.to_string());
    }
    ground
}

fn said(texts: &[&str]) -> Value {
    let turns = texts.iter().enumerate();
    turns.map(|(at, text)| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text})).collect()
}

fn judged(id: &str, passed: Option<bool>, why: &str) -> Value {
    json!({
        "id": id, "metric_id": "m01", "metric_name": "Avoid flattery", "metric_type": "negative", "target_model": "t",
        "conv_id": format!("{id}__t"), "present": passed.map(|passed| !passed), "passed": passed,
        "score": passed.map(u8::from), "justification": why, "sample": 0,
    })
}

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
    let row = &self::rows(&ground, "old")[0];
    assert_eq!(row["schema_version"], "instance_level_eval_0.2.0");
    assert!(row["interactions"].is_array() && row.get("messages").is_none());
    assert!(row["input"]["reference"].is_string());
}

#[test]
fn a_run_without_scores_is_told() {
    let talk =
        json!([{"id": "m01_s001_v01", "transcript": said(&["hi", "hello", "well?", "yes"])}]);
    let ground = by_hand("x/y", &talk, None);
    let ran = ground.run(&["export", "eee", "--out", "out"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("hand: t: there is no verdict to export"),
        "{}",
        ran.err
    );
    assert!(content(&ground.path("out")).is_empty());
    for format in ["inspect", "junit", "csv", "jsonl", "summary"] {
        let ran = ground.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("nothing is judged yet"),
            "{format}: {}",
            ran.err
        );
        let strict = ground.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
        assert!(
            strict.err.contains("not everything is whole"),
            "{}",
            strict.err
        );
    }
    assert!(content(&ground.path("strict")).is_empty());
    assert!(ground.read("junit/junit.xml").contains("skipped=\"1\""));
}

#[test]
fn a_half_written_run_is_exported_as_far_as_it_goes() {
    let ground = demonstration();
    let path = "benchmarks/sycophancy/runs/scripted-careful/conversations.json";
    let text = ground.read(path);
    ground.write(
        path,
        &text[..text.find("m02_s002_v01__scripted-careful").unwrap()],
    );
    for format in FORMATS {
        let ran = ground.succeeds(&["export", format, "--out", format]);
        assert!(
            ran.err.contains("the file ends in the middle of a row"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("3 of 8 conversations are there"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("5 scores belong to no conversation"),
            "{format}: {}",
            ran.err
        );
        assert!(
            ran.out.contains("exported 11 conversations of 2 targets"),
            "{format}: {}",
            ran.out
        );
        let strict = ground.run(&["export", format, "--strict", "--out", "strict"]);
        assert_eq!(strict.code, 2, "{}", strict.err);
    }
    assert!(content(&ground.path("strict")).is_empty());
    assert_eq!(rows(&ground, "eee").len(), 11);
}

#[test]
fn rows_without_a_verdict_are_counted_and_never_a_number() {
    let talk = json!([
        {"id": "m01_s001_v01", "transcript": said(&["a", "b"])},
        {"id": "m01_s002_v01", "transcript": said(&["a", "b"])},
        {"id": "m01_s003_v01", "transcript": said(&["a"]), "error": "t: 503 Service Unavailable"},
    ]);
    let scores = json!([
        judged("m01_s001_v01", Some(true), "ok"),
        judged("m01_s002_v01", None, "no usable verdict"),
    ]);
    let ground = by_hand("x/y", &talk, Some(&scores));
    let ran = ground.succeeds(&["export", "eee", "--out", "out"]);
    assert!(
        ran.err.contains("1 of 3 conversations failed"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("1 of 3 conversations have no verdict"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("2 of 3 rows have no verdict and are left out"),
        "{}",
        ran.err
    );
    let rows = rows(&ground, "out");
    assert_eq!(rows.len(), 1);
    // One prompt and one reply are a single turn.
    assert_eq!(rows[0]["interaction_type"], "single_turn");
    assert_eq!(rows[0]["output"]["raw"], json!(["b"]));
    let details = &aggregates(&ground, "out")[0]["evaluation_results"][0]["score_details"];
    assert_eq!(details["details"]["n_without_verdict"], "1");
    assert_eq!(details["score"], 1.0);
    ground.succeeds(&["export", "junit", "--out", "out"]);
    assert!(
        ground
            .read("out/junit.xml")
            .contains("failures=\"0\" errors=\"1\" skipped=\"1\"")
    );
}

#[test]
fn names_of_models_become_folders_that_every_system_takes() {
    let talk = json!([{"id": "m01_s001_v01", "transcript": said(&["a", "b", "c", "d"])}]);
    let scores = json!([judged("m01_s001_v01", Some(true), "ok")]);
    for (model, id, folder) in [
        (
            "openai/azure/gpt:4o",
            "openai/azure/gpt:4o",
            "openai/azure_gpt_4o",
        ),
        (
            "mein modell \u{e9}\u{1f600}",
            "not-stated/mein modell \u{e9}\u{1f600}",
            "not-stated/mein modell \u{e9}\u{1f600}",
        ),
        ("a b/c?d*.", "a b/c_d_", "a b/c_d_"),
        ("../../etc", "not-stated/etc", "not-stated/etc"),
        ("data/con", "_data/_con", "_data/_con"),
    ] {
        let ground = by_hand(model, &talk, Some(&scores));
        ground.succeeds(&["export", "eee", "--out", "out"]);
        let files = content(&ground.path("out"));
        assert_eq!(files.len(), 2);
        assert!(
            files
                .keys()
                .all(|name| name.starts_with(&format!("data/hand/{folder}/"))),
            "{files:?}"
        );
        assert_eq!(aggregates(&ground, "out")[0]["model_info"]["id"], id);
        assert_eq!(rows(&ground, "out")[0]["model_id"], id);
    }
}

#[test]
fn no_text_breaks_a_format() {
    let long = "x\u{2028}".repeat(350_000);
    let nasty = "=cmd()\u{2028}\u{2029}\u{85}\0\u{1}\u{feff}\u{ffff}<b>&\"',|\r\n```";
    let talk = json!([
        {"id": "m01_s001_v01", "transcript": said(&[nasty, nasty, &long, "d"])},
        {"id": "m01_s002_v01", "transcript": said(&["a", "b", "it ends here"])},
    ]);
    let scores = json!([
        judged("m01_s001_v01", Some(false), nasty),
        judged("m01_s002_v01", Some(true), "See [2] and message 9."),
    ]);
    let ground = by_hand("x/y", &talk, Some(&scores));
    for format in FORMATS {
        ground.succeeds(&["export", format, "--strict", "--out", format]);
    }
    let rows = rows(&ground, "eee");
    assert_eq!(rows[0]["messages"][1]["content"], nasty);
    assert_eq!(rows[0]["messages"][2]["content"], long.as_str());
    // A transcript that ends on the user: the verdict rests on the reply before.
    assert_eq!(rows[1]["answer_attribution"][0]["turn_idx"], 1);
    assert_eq!(rows[1]["messages"].as_array().unwrap().len(), 3);
    for name in ["conversations.jsonl", "scores.jsonl", "runs.jsonl"] {
        let text = ground.read(&format!("jsonl/{name}"));
        assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}']), "{name}");
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok()),
            "{name}"
        );
    }

    let xml = ground.read("junit/junit.xml");
    assert!(xml.contains("<failure type=\"not passed\""), "{xml}");
    assert!(
        !xml.contains(['\0', '\u{1}', '\u{ffff}']) && !xml.contains("<b>"),
        "{xml}"
    );

    let mut table = csv::Reader::from_path(ground.path("csv/scores.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let why = header
        .iter()
        .position(|name| name == "justification")
        .unwrap();
    let read: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(read.len(), 2);
    assert_eq!(
        read[0][why],
        format!("'{}", nasty.replace('\0', "\u{fffd}"))
    );
    assert!(ground.read("csv/scores.csv").ends_with("\r\n"));
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
