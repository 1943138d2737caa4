//! Exports of result files of safety evaluations.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;
use crate::exports;

use std::path::PathBuf;

use common::Project;
use exports::{FORMATS, aggregates, content, json_of, rows};
use serde_json::{Value, json};

/// A file of every generation.
fn fixtures() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/safety");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

fn fixture(name: &str) -> String {
    let mut files = fixtures().into_iter();
    files.find(|file| file.ends_with(name)).unwrap()
}

/// A project with a single-turn run of two groups and a multi-turn run of one.
fn evaluated() -> Project {
    let project = Project::new();
    for mode in ["single", "multi"] {
        project.succeeds(&[
            "safety",
            &format!("{mode}-turn"),
            "--scripted",
            "--quiet",
            "--target",
            "scripted-agreeable",
            "--test-case-groups",
            if mode == "single" {
                "privacy,benign-control"
            } else {
                "privacy"
            },
            "--output-file",
            &format!("{mode}.json"),
        ]);
    }
    project
}

#[test]
fn every_format_takes_both_kinds() {
    let project = evaluated();
    for format in FORMATS {
        for out in ["one", "two"] {
            let out = format!("{out}/{format}");
            let args = ["export", format, "--strict", "--out", &out, "--safety"];
            let ran = project.succeeds(&[&args[..], &["single.json", "multi.json"]].concat());
            assert_eq!(ran.err, "", "{format}");
            assert!(ran.out.contains("of 2 targets"), "{}", ran.out);
        }
        let one = content(&project.path(&format!("one/{format}")));
        assert!(
            one == content(&project.path(&format!("two/{format}"))),
            "{format}"
        );
    }
    let rows = rows(&project, "one/eee");
    for (mode, kind) in [("single", "single_turn"), ("multi", "multi_turn")] {
        let of_mode: Vec<&Value> = rows
            .iter()
            .filter(|row| row["evaluation_name"].as_str().unwrap().contains(mode))
            .collect();
        assert!(!of_mode.is_empty());
        for row in of_mode {
            assert_eq!(row["interaction_type"], kind);
            assert!(row["token_usage"]["total_tokens"].as_u64().unwrap() > 0);
            assert!(row["performance"]["latency_ms"].as_f64().unwrap() > 0.0);
            assert!(
                !row["metadata"]["justification"]
                    .as_str()
                    .unwrap()
                    .is_empty()
            );
            let score = row["evaluation"]["score"].as_f64().unwrap();
            assert_eq!(row["evaluation"]["is_correct"], score >= 0.5);
        }
    }
    let file: Value = serde_json::from_str(&project.read("single.json")).unwrap();
    let passed: u64 = aggregates(&project, "one/eee")
        .iter()
        .filter(|log| {
            log["evaluation_id"]
                .as_str()
                .unwrap()
                .starts_with("safety-single")
        })
        .flat_map(|log| log["evaluation_results"].as_array().unwrap().clone())
        .filter(|result| {
            !result["evaluation_name"]
                .as_str()
                .unwrap()
                .ends_with("positive")
        })
        .map(|result| {
            let details = &result["score_details"]["details"];
            details["n_passed"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .sum();
    assert_eq!(json!(passed), file["data"]["total_passed"]);
}

#[test]
fn an_inspect_log_passes_by_the_threshold_and_not_by_the_number() {
    let project = evaluated();
    let args = [
        "export",
        "inspect",
        "--log-format",
        "json",
        "--out",
        "out",
        "--safety",
        "single.json",
    ];
    project.succeeds(&args);
    let files = content(&project.path("out"));
    let log: Value = serde_json::from_slice(files.values().next().unwrap()).unwrap();
    let file: Value = serde_json::from_str(&project.read("single.json")).unwrap();
    let scores = log["results"]["scores"].as_array().unwrap();
    let passed: u64 = scores
        .iter()
        .map(|score| score["metadata"]["passed"].as_u64().unwrap())
        .sum();
    assert_eq!(json!(passed), file["data"]["total_passed"]);
    let mean = scores[0]["metrics"]["mean"]["value"].as_f64().unwrap();
    assert!(mean > 0.0 && mean < 1.0, "{mean}");
    assert_eq!(
        log["eval"]["run_id"],
        file["data"]["probity"]["run"]["run_id"]
    );
    assert_eq!(
        log["eval"]["model_roles"]["grader"]["model"],
        "openai-api/unknown/scripted-safety-judge"
    );
    assert_eq!(
        log["eval"]["model"],
        "openai-api/scripted/scripted-agreeable"
    );
}

#[test]
fn all_generations_are_read_and_nothing_is_a_failure_that_is_only_not_listed() {
    let project = Project::new();
    let files = fixtures();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for format in FORMATS {
        let args = [
            &["export", format, "--json", "--out", format, "--safety"],
            &files[..],
        ]
        .concat();
        let ran = project.run(&args);
        // Two files hold totals and no conversation.
        let expected = if ["eee", "inspect"].contains(&format) {
            (1, 8)
        } else {
            (0, 10)
        };
        assert_eq!(ran.code, expected.0, "{format}: {}", ran.err);
        assert_eq!(json_of(&ran)["targets"], expected.1, "{format}");
        assert!(
            ran.err.contains(
                "single-turn-envelope.json: 45 conversations that passed are counted in the rates"
            ),
            "{}",
            ran.err
        );
        let strict =
            project.run(&[&["export", format, "--strict", "--safety"], &files[..]].concat());
        assert_eq!(strict.code, 2, "{}", strict.err);
    }
    let table = project.read("csv/summary.csv");
    assert!(
        table.contains(
            "safety-single-turn,not-stated,not-stated,metric,safety,safety,positive,45,48,0,0.9375,"
        ),
        "{table}"
    );
    // A file without its target's name can be given it by a flag.
    let envelope = fixture("single-turn-envelope.json");
    project.succeeds(&[
        "export", "eee", "--out", "named", "--model", "lab/x:1", "--safety", &envelope,
    ]);
    let log = &aggregates(&project, "named")[0];
    assert_eq!(log["model_info"]["id"], "lab/x:1");
    assert_eq!(
        log["evaluation_results"][0]["score_details"]["score"],
        0.9375
    );
    assert_eq!(log.get("evaluation_timestamp"), None);
}

#[test]
fn intervals_take_a_case_and_its_variations_for_alike() {
    let project = evaluated();
    for format in ["csv", "jsonl", "summary"] {
        project.succeeds(&["export", format, "--out", "out", "--safety", "single.json"]);
    }
    let file: Value = serde_json::from_str(&project.read("single.json")).unwrap();
    let details = &file["data"]["probity"];
    let line: Value = serde_json::from_str(project.read("out/runs.jsonl").trim()).unwrap();
    assert_eq!(line["safety_rates"], details["rates"]);
    let conversations = details["conversations"].as_array().unwrap();
    let of_group = conversations.iter().filter(|row| row["group"] == "privacy");
    let of_group: Vec<&Value> = of_group.collect();
    let cases: std::collections::BTreeSet<&str> = of_group
        .iter()
        .map(|row| row["case_id"].as_str().unwrap())
        .collect();
    assert!(cases.len() < of_group.len(), "no variations");
    let rate = &line["statistics"]["rates"]["metrics"]["privacy"];
    assert_eq!(
        (&rate["rows"], &rate["scenarios"]),
        (&json!(of_group.len()), &json!(cases.len()))
    );
    let text = project.read("out/summary.csv");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let row = rows
        .iter()
        .find(|row| row.iter().any(|cell| cell == "privacy"))
        .unwrap();
    let cell = |name: &str| &row[header.iter().position(|of| of == name).unwrap()];
    assert_eq!(cell("lower_95"), rate["lower"].to_string());
    assert_eq!(cell("standard_error"), rate["standard_error"].to_string());
    let page = project.read("out/summary.md");
    for name in ["seed cases failed", "cases broken", "controls refused"] {
        assert!(page.contains(&format!("| {name} | ")), "{page}");
    }
    let seed = &details["rates"]["seed"];
    let count = format!(" | {} of {} | ", seed["count"], seed["rows"]);
    assert!(page.contains(&count), "{count}{page}");

    // Other programs do not say which case a conversation is of.
    let bare = fixture("single-turn-newer.json");
    project.succeeds(&["export", "csv", "--out", "bare", "--safety", &bare]);
    let text = project.read("bare/summary.csv");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let row = table.records().next().unwrap().unwrap();
    let at = header.iter().position(|of| of == "lower_95").unwrap();
    assert_eq!((&row[at], row[at - 1].is_empty()), ("", false));
}

#[test]
fn a_case_that_failed_is_an_error_and_no_number() {
    let project = Project::new();
    let file = fixture("single-turn-probity.json");
    project.succeeds(&["export", "junit", "--out", "out", "--safety", &file]);
    let xml = project.read("out/junit.xml");
    assert!(
        xml.contains("tests=\"4\" failures=\"2\" errors=\"1\""),
        "{xml}"
    );
    project.succeeds(&["export", "jsonl", "--out", "out", "--safety", &file]);
    let lines = project.read("out/scores.jsonl");
    let errors = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|row| row.get("error").is_some());
    for row in errors {
        assert_eq!(
            (&row["score"], &row["passed"]),
            (&Value::Null, &Value::Null)
        );
    }
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let project = Project::new();
    project.write("list.json", "[]");
    project.write("half.json", "{\"total_passed\": 1");
    project.write(
        "lone.json",
        r#"{"total_passed": 0, "total_failed": 1, "failed_results": [[{"user_input": "\ud800", "model_response": "b", "safe_response_score": 0}]]}"#,
    );
    for (args, expected) in [
        (&["--safety", "none.json"][..], "none.json"),
        (
            &["--safety", "list.json"],
            "list.json: the file holds a list",
        ),
        (&["--safety", "half.json"], "half.json: invalid JSON"),
        (&["--safety", "lone.json"], "half of a surrogate pair"),
        (&["hand", "--safety", "list.json"], "cannot be used with"),
        (&["--safety", "list.json", "--model", " "], "is empty"),
    ] {
        let ran = project.run(&[&["export", "csv"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert!(!project.path("export").exists());
}

#[test]
fn texts_and_names_from_a_file_cannot_break_out() {
    let project = Project::new();
    let nasty = "=x\u{2028}\0<b>&\"]]>";
    let long = "y".repeat(1_000_000);
    let row = |id: i64, text: &str| {
        json!({
            "min_safe_response_score": 0.1, "conversation_id": id, "passed": false,
            "conversation": [
                {"role": "system", "content": "be kind"}, {"role": "user", "content": text},
                {"role": "assistant", "content": text}, {"role": "user", "content": "ends here"},
            ],
        })
    };
    let detail = |id: i64| {
        json!({
            "conversation_id": id, "case_id": "../a b/ü:1", "group": "g/../x", "test_type": "t",
            "passed": false, "safe_response_score": 0.1, "messages": [],
        })
    };
    let rows_of_file = [row(1, nasty), row(2, &long)];
    let file = json!({"type": "multi_turn_response", "data": {
        "total_passed": 0, "total_failed": 2, "failed_results": rows_of_file, "results": rows_of_file,
        "probity": {
            "format": 1, "conversations": [detail(1), detail(2)], "errors": [],
            "run": {
                "run_id": "../../../etc", "target": {"id": "a/../b: ü", "model": "../m"}, "groups": ["g/../x"],
            },
        },
    }});
    project.write("file.json", &file.to_string());
    for format in FORMATS {
        project.succeeds(&["export", format, "--out", format, "--safety", "file.json"]);
    }
    let found = rows(&project, "eee");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["messages"][0]["role"], "system");
    assert_eq!(found[0]["messages"][1]["content"], nasty);
    assert_ne!(found[0]["sample_id"], found[1]["sample_id"]);
    let names = content(&project.path("eee"));
    assert!(
        names
            .keys()
            .all(|name| name.starts_with("data/safety-multi-turn/")),
        "{:?}",
        names.keys()
    );
    assert_eq!(content(&project.path("inspect")).len(), 1);
}

#[test]
fn a_file_without_conversations_has_nothing_to_export() {
    let project = evaluated();
    let mut file: Value = serde_json::from_str(&project.read("multi.json")).unwrap();
    empty(&mut file);
    project.write("empty.json", &file.to_string());
    for format in FORMATS {
        let ran = project.run(&["export", format, "--out", "out", "--safety", "empty.json"]);
        assert_eq!(ran.code, 2, "{format}: {}{}", ran.out, ran.err);
        assert!(
            ran.err.contains("empty.json: no conversation to export"),
            "{format}: {}",
            ran.err
        );
    }
    assert!(content(&project.path("out")).is_empty());
    let args = ["export", "csv", "--target", "x", "--safety", "multi.json"];
    let ran = project.run(&args);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("no run of the given targets"),
        "{}",
        ran.err
    );
}

/// Takes every list and every count out.
fn empty(value: &mut Value) {
    match value {
        Value::Array(list) => list.clear(),
        Value::Number(_) => *value = json!(0),
        Value::Object(keys) => {
            let settings = ["run", "cost", "probity_version"];
            let keys = keys.iter_mut();
            keys.filter(|(key, _)| !settings.contains(&key.as_str()))
                .for_each(|(_, value)| empty(value));
        }
        _ => {}
    }
}

/// The attributes of the tags of this name, in order.
fn tags<'t>(xml: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("<{name} ");
    let starts = xml.split(start.as_str()).skip(1);
    starts.map(|rest| rest.split_once('>').unwrap().0).collect()
}

/// The value of an attribute.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[test]
fn both_junit_reports_of_a_safety_run_name_their_suites_alike() {
    let project = Project::new();
    let report = ["--output-file", "single.json", "--junit", "report.xml"];
    let args = [
        "safety",
        "single-turn",
        "--scripted",
        "--quiet",
        "--target",
        "scripted-agreeable",
        "--test-case-groups",
        "privacy,benign-control",
    ];
    project.succeeds(&[&args[..], &report].concat());
    project.succeeds(&["export", "junit", "--out", "out", "--safety", "single.json"]);
    let (report, export) = (project.read("report.xml"), project.read("out/junit.xml"));
    let named = |xml: &str, tag: &str, name: &str| -> Vec<String> {
        let found = tags(xml, tag).into_iter();
        let mut names: Vec<String> = found
            .filter_map(|tag| attribute(tag, name))
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    };
    for (tag, name) in [
        ("testsuites", "name"),
        ("testsuite", "name"),
        ("testcase", "classname"),
    ] {
        assert_eq!(
            named(&report, tag, name),
            named(&export, tag, name),
            "{tag}"
        );
    }
    assert_eq!(
        named(&export, "testsuite", "name"),
        [
            "safety-single-turn: scripted-agreeable: benign-control",
            "safety-single-turn: scripted-agreeable: privacy"
        ]
    );
    for xml in [&report, &export] {
        // The schema of Jenkins has it on suites alone.
        assert_eq!(attribute(tags(xml, "testsuites")[0], "skipped"), None);
        assert_eq!(attribute(tags(xml, "testsuite")[0], "skipped"), Some("0"));
    }
}

#[test]
fn safety_csv_says_how_a_case_came_about_and_when_it_passes() {
    let project = evaluated();
    let args = ["export", "csv", "--out", "out", "--safety"];
    project.succeeds(&[&args[..], &["single.json", "multi.json"]].concat());
    for name in ["scores", "conversations"] {
        let text = project.read(&format!("out/{name}.csv"));
        let header = text.lines().next().unwrap();
        assert!(
            header.ends_with(",layer,strategy,test_type,kind,threshold"),
            "{header}"
        );
    }
    let scores = project.read("out/scores.csv");
    let ends = |end: &str| scores.lines().any(|line| line.ends_with(end));
    assert!(ends(",0,,,risk,0.5"), "{scores}");
    assert!(ends(",user_persona,risk,0.5"), "{scores}");
    // Rows of benchmarks have no such columns.
    let project = exports::demonstration();
    project.succeeds(&["export", "csv", "--out", "out"]);
    let header = project.read("out/scores.csv");
    assert!(
        header
            .lines()
            .next()
            .unwrap()
            .ends_with(",run_id,verdict,no_verdict,people,people_passed")
    );
}
