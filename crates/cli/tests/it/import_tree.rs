//! Benchmark trees, imported as they are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;
use crate::imports;

use std::fs;

use common::Project;
use exports::{content, json_of};
use imports::{FLATTERY, fixture, golden, hello, rows, rows_at};
use serde_json::{Value, json};

#[test]
fn a_tree_is_copied_and_older_rows_are_joined() {
    let project = golden();
    project.write("benchmarks/sycophancy/notes.txt", "mine");
    // A page is of its benchmark, and is neither copied nor missed.
    project.write("benchmarks/sycophancy/report.html", "a page");
    let ran = project.run(&[
        "import",
        "tree",
        "benchmarks/sycophancy",
        "--as",
        "copy",
        "--json",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(report["conversations"], 16);
    assert_eq!(report["left_out"][0]["count"], 1);
    assert!(ran.err.contains("notes.txt"), "{}", ran.err);
    let mut copied = content(&project.path("benchmarks/copy"));
    let record: Value = serde_json::from_slice(&copied.remove("imported.json").unwrap()).unwrap();
    assert_eq!(record["targets"][0]["id"], "scripted-agreeable");
    let mut before = content(&project.path("benchmarks/sycophancy"));
    before.remove("notes.txt");
    assert!(before.remove("report.html").is_some());
    // They are those of the benchmark that it is now.
    let grades = String::from_utf8(before["grades.json"].clone()).unwrap();
    let grades = grades.replace("\"uid\": \"sycophancy\"", "\"uid\": \"copy\"");
    before.insert("grades.json".into(), grades.into_bytes());
    assert_eq!(before, copied);

    // The oldest form: ids alone, and names of their own.
    let rows: Vec<Value> = rows(&project, "sycophancy", "scripted-careful")
        .iter()
        .map(|row| {
            json!({"id": row["id"], "metric_id": row["metric_id"], "target_model": "scripted-careful", "_sample": 0, "transcript": row["transcript"]})
        })
        .collect();
    project.write(
        "benchmarks/sycophancy/runs/scripted-careful/conversations.json",
        &Value::from(rows).to_string(),
    );
    fs::remove_file(project.path("benchmarks/sycophancy/notes.txt")).unwrap();
    project.succeeds(&["import", "benchmarks/sycophancy", "--as", "joined"]);
    let joined = imports::rows(&project, "joined", "scripted-careful");
    let whole = imports::rows(&project, "copy", "scripted-careful");
    for (joined, whole) in joined.iter().zip(&whole) {
        for key in [
            "conv_id",
            "persona",
            "landmarks",
            "metric_name",
            "title",
            "transcript",
            "sample",
        ] {
            assert_eq!(joined[key], whole[key], "{key}");
        }
        assert_eq!(joined["target"]["id"], "scripted-careful");
    }
    project.succeeds(&["evaluate", "joined"]);
}

#[test]
fn a_benchmark_that_is_there_stays_unless_it_is_to_be_replaced() {
    let project = golden();
    let log = fixture("bank.eval");
    let mut args = vec!["import", &log, "--as", "sycophancy"];
    args.extend(FLATTERY);
    let before = content(&project.path("benchmarks"));
    let ran = project.run(&args);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--force"), "{}", ran.err);
    assert_eq!(content(&project.path("benchmarks")), before);
    args.push("--force");
    project.succeeds(&args);
    assert!(!project.path("benchmarks/sycophancy/results.json").exists());
    assert_eq!(rows(&project, "sycophancy", "mockllm-a-model-v1").len(), 4);
    let left: Vec<_> = fs::read_dir(project.path("benchmarks")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    // A tree cannot take its own place.
    let ran = project.run(&[
        "import",
        "benchmarks/sycophancy",
        "--as",
        "sycophancy",
        "--force",
    ]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("is the benchmark sycophancy itself"),
        "{}",
        ran.err
    );
}

#[test]
fn what_a_killed_import_left_is_cleared_away_or_put_back() {
    let project = golden();
    let log = fixture("bank.eval");
    let mut args = vec!["import", &log, "--as", "sycophancy"];
    args.extend(FLATTERY);
    let names = || -> Vec<String> {
        let entries = fs::read_dir(project.path("benchmarks")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let before = content(&project.path("benchmarks"));
    // Killed while it made the benchmark.
    project.write("benchmarks/.import-sycophancy/benchmark/runs/x", "half");
    project.write("benchmarks/.import-sycophancy/scratch/rows", "half");
    assert_eq!(project.run(&args).code, 2);
    assert_eq!(content(&project.path("benchmarks")), before);
    assert_eq!(names(), ["sycophancy"]);
    // Killed when the earlier one had been moved away, and the new one had not its name yet.
    let around = project.path("benchmarks/.import-sycophancy");
    fs::create_dir_all(around.join("benchmark")).unwrap();
    fs::rename(
        project.path("benchmarks/sycophancy"),
        around.join("earlier"),
    )
    .unwrap();
    let ran = project.run(&args);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("--force"), "{}", ran.err);
    assert_eq!(content(&project.path("benchmarks")), before);
    // The same, and somebody made another one of this name since: both stay.
    fs::create_dir_all(around.join("benchmark")).unwrap();
    fs::rename(
        project.path("benchmarks/sycophancy"),
        around.join("earlier"),
    )
    .unwrap();
    project.write("benchmarks/sycophancy/benchmark.yaml", "metrics: []\n");
    args.push("--force");
    let there = content(&project.path("benchmarks"));
    let ran = project.run(&args);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("earlier"), "{}", ran.err);
    assert_eq!(content(&project.path("benchmarks")), there);
    // Killed when all was done but clearing away.
    fs::remove_dir_all(around.join("benchmark")).unwrap();
    project.succeeds(&args);
    assert_eq!(names(), ["sycophancy"]);
    assert_eq!(rows(&project, "sycophancy", "mockllm-a-model-v1").len(), 4);
}

#[test]
fn trees_that_are_broken_are_refused() {
    let project = Project::new();
    let import = |path: &str, words: &str| {
        let ran = project.run(&["import", "tree", path]);
        assert_eq!(ran.code, 2, "{path}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{path}: {}", ran.err);
    };
    import("nowhere", "cannot be read");
    fs::create_dir(project.path("empty")).unwrap();
    import("empty", "benchmark.yaml");
    let yaml = "metrics:\n  - {id: m01, name: N, type: positive, definition: D}\n";
    project.write("rows/benchmark.yaml", yaml);
    project.write(
        "rows/runs/t/conversations.json",
        "[{\"id\": \"m01_s001_v01\"",
    );
    import("rows", "ends in the middle");
    project.write("ids/benchmark.yaml", yaml);
    project.write(
        "ids/scenarios.json",
        "[{\"id\": \"a\", \"metric_id\": \"m01\"}, {\"id\": \"a\", \"metric_id\": \"m01\"}]",
    );
    import("ids", "duplicate id");
    project.write(
        "type/benchmark.yaml",
        "metrics:\n  - {id: m01, name: N, type: neutral, definition: D}\n",
    );
    import("type", "neutral");
    let left: Vec<_> = fs::read_dir(project.path("benchmarks"))
        .map(Iterator::count)
        .into_iter()
        .collect();
    assert!(left.is_empty() || left == [0], "{left:?}");
    // Scores that cannot be read are left out: they can be regenerated.
    project.write("scores/benchmark.yaml", yaml);
    let row = json!({"id": "m01_s001_v01", "metric_id": "m01", "transcript": hello()});
    project.write(
        "scores/runs/t/conversations.json",
        &json!([row]).to_string(),
    );
    project.write("scores/runs/t/scores.json", "[{]");
    project.write("scores/runs/.hidden/conversations.json", "[]");
    let ran = project.run(&["import", "scores"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("`probity evaluate scores` rewrites it"),
        "{}",
        ran.err
    );
    assert!(
        !project
            .path("benchmarks/scores/runs/t/scores.json")
            .exists()
    );
    let rows = rows_at(&project, "benchmarks/scores/runs/t/conversations.json");
    assert_eq!(rows[0]["conv_id"], "m01_s001_v01__t");
}

#[test]
fn a_record_that_is_broken_is_reported() {
    let project = golden();
    project.succeeds(&["import", "benchmarks/sycophancy", "--as", "copy"]);
    project.write(
        "benchmarks/copy/imported.json",
        "{\"format_version\": \"1.0.0\"",
    );
    let ran = project.run(&["evaluate", "copy"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("imported.json"), "{}", ran.err);
}

#[test]
fn a_judged_tree_under_another_name_is_whole_and_is_not_judged_again() {
    let project = golden();
    project.succeeds(&["calibrate", "sycophancy", "--reference", "scripted-careful"]);
    project.succeeds(&["aggregate", "sycophancy"]);
    let ran = project.succeeds(&["import", "tree", "benchmarks/sycophancy", "--as", "copy"]);
    assert!(ran.err.contains("grades.json"), "{}", ran.err);
    assert!(ran.err.contains("standards.json"), "{}", ran.err);
    assert!(
        ran.out.contains("Next: probity aggregate copy\n"),
        "{}",
        ran.out
    );
    project.succeeds(&["validate", "benchmarks/copy"]);
    let graded = json_at(&project, "benchmarks/copy/grades.json");
    assert_eq!(graded["benchmark"]["uid"], "copy");
    assert_eq!(graded["standards"]["reference_benchmark"], "copy");
    // The standards are those of the new name too, and grade it alike.
    project.succeeds(&["aggregate", "copy"]);
    assert_eq!(json_at(&project, "benchmarks/copy/grades.json"), graded);

    fs::remove_file(project.path("benchmarks/copy/runs/scripted-careful/scores.json")).unwrap();
    let ran = project.succeeds(&["import", "tree", "benchmarks/copy", "--as", "half"]);
    assert!(ran.out.contains("probity evaluate half\n"), "{}", ran.out);
    fs::remove_dir_all(project.path("benchmarks/copy/runs")).unwrap();
    let ran = project.succeeds(&["import", "tree", "benchmarks/copy", "--as", "bare"]);
    assert!(ran.out.contains("probity run bare\n"), "{}", ran.out);
}

fn json_at(project: &Project, path: &str) -> Value {
    serde_json::from_str(&project.read(path)).unwrap()
}
