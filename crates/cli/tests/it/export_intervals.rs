//! All exports of a tree carry the interval and the standard error of its `statistics.json`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

use crate::common;
use crate::exports;

use common::Project;
use exports::{FORMATS, aggregates, by_hand, content, judged, said};
use schema::numbers;
use serde_json::{Value, json};

/// Eight verdicts of three base scenarios, and one row without.
const VERDICTS: [(&str, Option<bool>); 9] = [
    ("m01_s001_v01", Some(true)),
    ("m01_s001_v02", Some(true)),
    ("m01_s001_v03", Some(false)),
    ("m01_s002_v01", Some(true)),
    ("m01_s002_v02", Some(true)),
    ("m01_s003_v01", Some(false)),
    ("m01_s003_v02", Some(false)),
    ("m01_s003_v03", Some(true)),
    ("m01_s004_v01", None),
];

const SCORES: &str = "benchmarks/hand/runs/t/scores.json";
const STATISTICS: &str = "benchmarks/hand/statistics.json";

fn rows(verdicts: &[(&str, Option<bool>)]) -> Value {
    let row = |(id, passed): &(&str, Option<bool>)| judged(id, *passed, "Because.");
    verdicts.iter().map(row).collect()
}

fn tree() -> Project {
    let talk = |(id, _): &(&str, Option<bool>)| json!({"id": id, "transcript": said(&["hi", "hello", "well?", "yes"])});
    let talks: Value = VERDICTS.iter().map(talk).collect();
    let project = by_hand("x/y", &talks, Some(&rows(&VERDICTS)));
    project.succeeds(&["aggregate", "hand"]);
    project
}

fn export(project: &Project, out: &str) {
    for format in FORMATS {
        let to = format!("{out}/{format}");
        let mut args = vec!["export", format, "--out", &to];
        args.extend(
            (format == "inspect")
                .then_some(["--log-format", "json"])
                .into_iter()
                .flatten(),
        );
        project.succeeds(&args);
    }
}

fn file(project: &Project, folder: &str, end: &str) -> String {
    let files = content(&project.path(folder));
    let (_, bytes) = files.iter().find(|(name, _)| name.ends_with(end)).unwrap();
    String::from_utf8(bytes.clone()).unwrap()
}

/// What each export says of the metric: estimate, lower, upper, standard error, level, method, scenarios, effective rows. A number
/// that is not there is null.
fn exported(project: &Project, out: &str) -> Vec<(&'static str, Vec<Value>)> {
    let result = &aggregates(project, &format!("{out}/eee"))[0]["evaluation_results"][0];
    let details = &result["score_details"];
    let uncertainty = &details["uncertainty"];
    let interval = &uncertainty["confidence_interval"];
    let number = |text: &Value| text.as_str().map_or(Value::Null, parsed);
    let eee = [
        details["score"].clone(),
        interval["lower"].clone(),
        interval["upper"].clone(),
        uncertainty["standard_error"]["value"].clone(),
        interval["confidence_level"].clone(),
        interval["method"].clone(),
        number(&details["details"]["n_scenarios"]),
        number(&details["details"]["n_effective_rows"]),
    ];

    let log = file(project, &format!("{out}/inspect"), ".json").replace("NaN", "null");
    let log: Value = serde_json::from_str(&log).unwrap();
    let metrics = &log["results"]["scores"][0]["metrics"];
    let rate = &metrics["pass_rate"];
    let inspect = [
        &rate["value"],
        &rate["metadata"]["lower"],
        &rate["metadata"]["upper"],
        &metrics["stderr"]["value"],
        &rate["metadata"]["level"],
        &rate["metadata"]["method"],
        &rate["metadata"]["scenarios"],
        &rate["metadata"]["effective_rows"],
    ];

    let xml = project.read(&format!("{out}/junit/junit.xml"));
    let property = |name: &str| {
        let (_, rest) = xml.split_once(&format!("<property name=\"{name}\" value=\""))?;
        Some(parsed(rest.split_once('"')?.0))
    };
    let names = [
        "pass_rate",
        "lower",
        "upper",
        "standard_error",
        "confidence_level",
        "interval_method",
        "scenarios",
        "effective_rows",
    ];
    let junit = names.map(|name| property(name).unwrap_or_default());

    let text = project.read(&format!("{out}/csv/summary.csv"));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().unwrap().clone();
    let row = table.records().next().unwrap().unwrap();
    let names = [
        "pass_rate",
        "lower_95",
        "upper_95",
        "standard_error",
        "confidence_level",
        "interval_method",
        "scenarios",
        "effective_rows",
    ];
    let csv = names.map(|name| {
        let at = header.iter().position(|of| of == name).unwrap();
        parsed(&row[at])
    });

    let line = project.read(&format!("{out}/jsonl/runs.jsonl"));
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let statistics = &line["statistics"];
    let rate = &statistics["rates"]["metrics"]["m01"];
    let jsonl = [
        &rate["estimate"],
        &rate["lower"],
        &rate["upper"],
        &rate["standard_error"],
        &statistics["level"],
        &statistics["method"],
        &rate["scenarios"],
        &rate["effective_rows"],
    ];
    vec![
        ("eee", eee.to_vec()),
        ("inspect", inspect.map(Value::clone).to_vec()),
        ("junit", junit.to_vec()),
        ("csv", csv.to_vec()),
        ("jsonl", jsonl.map(Value::clone).to_vec()),
    ]
}

/// A number where the text is one; null where it is empty.
fn parsed(text: &str) -> Value {
    match text {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

/// The same of `statistics.json`.
fn written(project: &Project) -> Vec<Value> {
    let statistics: Value = serde_json::from_str(&project.read(STATISTICS)).unwrap();
    let rate = &statistics["targets"][0]["rates"]["metrics"]["m01"];
    [
        &rate["estimate"],
        &rate["lower"],
        &rate["upper"],
        &rate["standard_error"],
        &statistics["level"],
        &statistics["method"],
        &rate["scenarios"],
        &rate["effective_rows"],
    ]
    .map(Value::clone)
    .to_vec()
}

#[test]
fn all_exports_carry_the_numbers_of_statistics_json() {
    let project = tree();
    export(&project, "out");
    let expected = written(&project);
    assert_eq!(expected[0], 0.625);
    assert_eq!(expected[5], "clopper-pearson-clustered");
    assert!(
        expected.iter().all(|value| !value.is_null()),
        "{expected:?}"
    );
    for (format, numbers) in exported(&project, "out") {
        assert_eq!(numbers, expected, "{format}");
    }
    let [lower, upper, standard_error] = [1, 2, 3].map(|at| expected[at].as_f64().unwrap());
    let row = format!(
        "| m01 Avoid flattery | negative | 63% | {} | 5 | 8 | 3 | 1 | {} |\n",
        numbers::compact_interval((lower, upper)),
        numbers::point_digits(standard_error)
    );
    let page = project.read("out/summary/summary.md");
    assert!(page.contains(&row), "{row}{page}");
    assert!(page.contains("clopper-pearson-clustered of 95%"), "{page}");
}

#[test]
fn a_rate_of_one_has_an_interval_and_no_standard_error() {
    let project = tree();
    let all: Vec<(&str, Option<bool>)> = VERDICTS.map(|(id, _)| (id, Some(true))).to_vec();
    project.write(SCORES, &rows(&all).to_string());
    project.succeeds(&["aggregate", "hand"]);
    export(&project, "out");
    let expected = written(&project);
    assert_eq!((&expected[0], &expected[3]), (&json!(1.0), &Value::Null));
    for (format, mut numbers) in exported(&project, "out") {
        // As text a whole number has no point.
        numbers[0] = json!(numbers[0].as_f64());
        numbers[2] = json!(numbers[2].as_f64());
        assert_eq!(numbers, expected, "{format}");
    }
}

#[test]
fn a_tree_without_statistics_json_exports_the_same_bytes() {
    let project = tree();
    export(&project, "with");
    std::fs::remove_file(project.path(STATISTICS)).unwrap();
    export(&project, "without");
    assert!(content(&project.path("with")) == content(&project.path("without")));
}

#[test]
fn an_outdated_statistics_json_is_reported_and_its_numbers_are_not_exported() {
    let project = tree();
    let old = written(&project);
    let outdated =
        "hand: t: statistics.json was not computed from these scores (`/rates/all/lower` is ";
    // As many rows passed as before, in other scenarios.
    let mut verdicts = VERDICTS;
    verdicts[2].1 = Some(true);
    verdicts[7].1 = Some(false);
    project.write(SCORES, &rows(&verdicts).to_string());
    let ran = project.succeeds(&["export", "csv", "--out", "said"]);
    assert!(ran.err.contains(outdated), "{}", ran.err);
    let strict = project.run(&["export", "csv", "--strict", "--out", "strict"]);
    assert_eq!(strict.code, 2, "{}", strict.err);
    assert!(strict.err.contains(outdated), "{}", strict.err);
    assert!(content(&project.path("strict")).is_empty());
    export(&project, "out");
    project.succeeds(&["aggregate", "hand"]);
    let expected = written(&project);
    assert_ne!(expected, old);
    for (format, numbers) in exported(&project, "out") {
        assert_eq!(numbers, expected, "{format}");
    }
    let ran = project.succeeds(&["export", "csv", "--out", "again"]);
    assert!(!ran.err.contains("statistics.json"), "{}", ran.err);
}

#[test]
fn a_rate_that_leaves_scores_out_has_no_interval_of_other_rows() {
    let project = tree();
    let path = "benchmarks/hand/runs/t/conversations.json";
    let mut talks: Value = serde_json::from_str(&project.read(path)).unwrap();
    talks.as_array_mut().unwrap().remove(0);
    project.write(path, &talks.to_string());
    let ran = project.succeeds(&["export", "csv", "--out", "said"]);
    let line =
        "7 of 8 scores with a verdict are exported: rates that leave some out have no interval";
    assert!(ran.err.contains(line), "{}", ran.err);
    export(&project, "out");
    for (format, numbers) in exported(&project, "out") {
        // JSONL has all of statistics.json, and no rates of its own.
        if format != "jsonl" {
            assert!(
                numbers[1..].iter().all(Value::is_null),
                "{format}: {numbers:?}"
            );
        }
    }
    assert!(
        project
            .read("out/summary/summary.md")
            .contains("| 57% | - | 4 | 7 | - | 1 | - |")
    );
}
