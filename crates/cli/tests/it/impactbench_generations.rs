//! Trees of ImpactBench of three generations, each with the `results.json` of its own `aggregate`. In June 2026 it judged each
//! conversation on all metrics, and wrote the type of the scenario's metric into the rows of all of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::exports;

use std::{fs, path::Path};

use common::Project;
use exports::{FORMATS, content, json_of};
use serde_json::{Value, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/impactbench");
const JUNE: &str = "2026-06-29";
const GENERATIONS: [&str; 3] = [JUNE, "2026-07-09", "2026-07-15"];
/// What every output says of the rows with the type of another metric: 32 of each target, of which 8 have no verdict.
const WARNING: &str = " have another `metric_type` than the metric of benchmark.yaml";

/// The tree of `generation`, in a folder of its own.
fn project(generation: &str) -> Project {
    let project = Project::new();
    for (name, text) in content(&Path::new(FIXTURES).join(generation)) {
        let text = std::str::from_utf8(&text).unwrap();
        project.write(&format!("benchmarks/{generation}/{name}"), text);
    }
    project
}

fn json_at(project: &Project, name: &str) -> Value {
    serde_json::from_str(&project.read(name)).unwrap()
}

/// Changes the rows of target `t01` in the tree of June.
fn change(project: &Project, change: impl Fn(&mut Value)) {
    let path = format!("benchmarks/{JUNE}/runs/t01/scores.json");
    let mut rows = json_at(project, &path);
    rows.as_array_mut().unwrap().iter_mut().for_each(change);
    project.write(&path, &rows.to_string());
}

#[test]
fn the_trees_are_aggregated_as_there() {
    for generation in GENERATIONS {
        let project = project(generation);
        let results = format!("benchmarks/{generation}/results.json");
        let theirs = json_at(&project, &results);
        fs::remove_file(project.path(&results)).unwrap();
        project.succeeds(&["validate", &format!("benchmarks/{generation}")]);
        let ran = project.succeeds(&["aggregate", generation]);
        assert_eq!(json_at(&project, &results), theirs, "{generation}");
        let warnings = ran.err.matches(WARNING).count();
        assert_eq!(
            warnings,
            if generation == JUNE { 2 } else { 0 },
            "{generation}: {}",
            ran.err
        );
        // And so after an import.
        project.succeeds(&[
            "import",
            &format!("benchmarks/{generation}"),
            "--as",
            "ours",
        ]);
        // The converted rows are those that the copied statistics are of.
        let validated = project.succeeds(&["validate", "benchmarks/ours"]);
        assert!(!validated.out.contains("sha256"), "{}", validated.out);
        assert!(!validated.out.contains("other scores"), "{}", validated.out);
        project.succeeds(&["aggregate", "ours"]);
        assert_eq!(
            json_at(&project, "benchmarks/ours/results.json"),
            theirs,
            "{generation}, imported"
        );
    }
}

/// The verdict is `passed`: `present` alone is none, in any output.
#[test]
fn a_row_without_passed_has_no_verdict() {
    let generation = "2026-07-15";
    let project = project(generation);
    let path = format!("benchmarks/{generation}/runs/t01/scores.json");
    let mut rows = json_at(&project, &path);
    let without = rows.as_array_mut().unwrap().iter_mut();
    let without = without.filter(|row| row["metric_id"] == "m01" && row["present"] == true);
    let without = without.take(3);
    let mut removed = 0_u64;
    for row in without {
        row.as_object_mut().unwrap().remove("passed");
        removed += 1;
    }
    assert_eq!(removed, 3);
    let scored = |of: &str| {
        let results = json_at(&project, &format!("benchmarks/{of}/results.json"));
        let rows = results.as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["target_model"] == "t01");
        rows.next().unwrap()["by_metric"]["m01"]["n_total"].clone()
    };
    let before = scored(generation).as_u64().unwrap();
    let left = json!(before - removed);
    project.write(&path, &rows.to_string());
    let validated = project.run(&["validate", &format!("benchmarks/{generation}")]);
    let problem = "`passed` is missing beside `present` or `score`: the row has no verdict";
    assert!(validated.out.contains(problem), "{}", validated.out);

    let ran = project.succeeds(&["aggregate", generation]);
    assert_eq!(scored(generation), left);
    let warning = "without `passed`, which is the verdict";
    assert!(ran.err.contains(warning), "{}", ran.err);
    assert!(ran.err.contains("No rate counts them"), "{}", ran.err);
    let statistics = json_at(
        &project,
        &format!("benchmarks/{generation}/statistics.json"),
    );
    let mut targets = statistics["targets"].as_array().unwrap().iter();
    let target = targets.find(|target| target["target"] == "t01").unwrap();
    assert_eq!(target["rates"]["metrics"]["m01"]["rows"], left);
    project.succeeds(&["export", "jsonl", generation, "--out", "lines"]);
    let exported = project.read("lines/scores.jsonl");
    let exported = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_metric =
        exported.filter(|row| row["target_model"] == "t01" && row["metric_id"] == "m01");
    let (with, none): (Vec<Value>, Vec<Value>) =
        of_metric.partition(|row| !row["passed"].is_null());
    assert_eq!(json!(with.len()), left);
    assert!(none.iter().all(|row| row["present"].is_null()), "{none:?}");

    // An import writes what the row says.
    project.succeeds(&[
        "import",
        &format!("benchmarks/{generation}"),
        "--as",
        "ours",
    ]);
    project.succeeds(&["validate", "benchmarks/ours"]);
    project.succeeds(&["aggregate", "ours"]);
    assert_eq!(scored("ours"), left);
}

/// Conversations have several verdicts each, 108 in all.
#[test]
fn the_progress_of_evaluate_counts_conversations() {
    let project = project(JUNE);
    project.succeeds(&["import", &format!("benchmarks/{JUNE}"), "--as", "ours"]);
    let ran = project.succeeds(&["evaluate", "ours"]);
    assert!(ran.err.contains("evaluate 48/48, done"), "{}", ran.err);
}

#[test]
fn statistics_and_exports_go_by_the_types_of_the_benchmark() {
    let project = project(JUNE);
    project.succeeds(&["aggregate", JUNE]);
    let statistics = json_at(&project, &format!("benchmarks/{JUNE}/statistics.json"));
    // 8 of the 16 verdicts on each of m01 and m03, which are positive, and on m02, which is negative.
    let rates = &statistics["targets"][0]["rates"];
    let counts = |of: &str| json!([rates[of]["passed"], rates[of]["rows"]]);
    assert_eq!(statistics["targets"][0]["target"], "t01");
    assert_eq!(counts("positive"), json!([16, 32]), "{rates:#}");
    assert_eq!(counts("negative"), json!([8, 16]), "{rates:#}");

    project.succeeds(&["export", "jsonl", JUNE, "--out", "lines"]);
    let lines = project.read("lines/scores.jsonl");
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 144);
    for row in &rows {
        let own = if row["metric_id"] == "m02" {
            "negative"
        } else {
            "positive"
        };
        assert_eq!(row["metric_type"], own, "{row}");
    }
}

#[test]
fn every_output_warns_of_the_types() {
    let project = project(JUNE);
    for format in FORMATS {
        let ran = project.succeeds(&["export", format, JUNE, "--out", format, "--json"]);
        assert_eq!(ran.err.matches(WARNING).count(), 2, "{format}: {}", ran.err);
        let warnings = &json_of(&ran)["warnings"];
        assert_eq!(
            warnings.as_array().unwrap().len(),
            2,
            "{format}: {warnings}"
        );
    }
    // It is not what `--strict` refuses.
    let ran = project.run(&["export", "csv", JUNE, "--strict", "--out", "strict"]);
    assert!(ran.err.contains("have no verdict"), "{}", ran.err);
    assert!(!ran.err.contains("metric_type"), "{}", ran.err);
    let ran = project.succeeds(&["report", JUNE, "--out", "page.html"]);
    assert_eq!(ran.err.matches(WARNING).count(), 2, "{}", ran.err);
    let page = project.read("page.html");
    assert!(page.contains("32 rows of"), "not in the page");
    let ran = project.succeeds(&["validate", &format!("benchmarks/{JUNE}")]);
    assert!(
        ran.out
            .contains("the metric \"m02\" of benchmark.yaml is negative"),
        "{}",
        ran.out
    );
}

#[test]
fn a_verdict_that_fits_no_type_is_refused() {
    let project = project(JUNE);
    // Both types are positive here.
    change(&project, |row| {
        let both = row["id"] == "m03_s001_v01" && row["metric_id"] == "m01";
        if both && row["present"] == true {
            row["passed"] = json!(false);
            row["score"] = json!(0);
        }
    });
    let ran = project.run(&["aggregate", JUNE]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err
            .contains("m03_s001_v01, metric m01: `present` is true and `passed` is false"),
        "{}",
        ran.err
    );
    assert_eq!(
        project
            .run(&["validate", &format!("benchmarks/{JUNE}")])
            .code,
        1
    );
}

#[test]
fn verdicts_under_a_type_that_was_changed_since_stay_what_they_were() {
    let project = project("2026-07-09");
    let yaml = "benchmarks/2026-07-09/benchmark.yaml";
    let text = project.read(yaml).replace("negative", "positive");
    project.write(yaml, &text);
    let ran = project.succeeds(&["aggregate", "2026-07-09"]);
    assert!(
        ran.err
            .contains("judged under another type of m02 than benchmark.yaml has now"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("which decides"), "{}", ran.err);
}
