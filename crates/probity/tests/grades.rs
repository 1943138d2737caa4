//! Hazards, standards, grades and records of whole runs over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failure ends the test"
)]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use common::Bench;
use probity::{CalibrateOptions, Observer, Phase, Progress, RunErrorKind, RunOptions, calibrate};
use schema::{EventKind, Grade, ModelId, Record};
use serde_json::{Value, json};
use store::read_grades;

fn options(references: &[&str]) -> CalibrateOptions {
    CalibrateOptions {
        references: references
            .iter()
            .map(|id| ModelId::new(id).unwrap())
            .collect(),
        command: "calibrate".to_owned(),
        ..CalibrateOptions::default()
    }
}

fn only(phase: Phase) -> RunOptions {
    RunOptions {
        phases: BTreeSet::from([phase]),
        ..RunOptions::default()
    }
}

/// The newest record of the bench's runs.
fn newest_record(bench: &Bench) -> Record {
    let runs = bench.layout().run("");
    let records = fs::read_dir(runs)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("record.json"))
        .filter(|path| path.exists());
    let newest: PathBuf = records.max().unwrap();
    serde_json::from_slice(&fs::read(newest).unwrap()).unwrap()
}

/// The events of one kind of the newest journal.
fn newest_events(bench: &Bench, message: EventKind) -> Vec<Value> {
    let runs = fs::read_dir(bench.layout().run("")).unwrap();
    let files = runs.flat_map(|run| fs::read_dir(run.unwrap().path()).unwrap());
    let journals = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let newest = journals
        .max_by_key(|path| path.file_name().unwrap().to_owned())
        .unwrap();
    let text = fs::read_to_string(newest).unwrap();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["message"] == message)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_standards_hazards_have_scores_with_bounds_and_no_grades() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    let grades = report.benchmarks[0].grades.clone().unwrap();
    assert_eq!(
        read_grades(&bench.path("flattery/grades.json")).unwrap(),
        grades
    );
    assert_eq!(grades.benchmark.uid, "flattery");
    assert_eq!(grades.standards, None);
    // One hazard per metric, and the counts of results.json.
    let results = bench.json("flattery/results.json");
    for (score, summary) in grades.scores.iter().zip(results.as_array().unwrap()) {
        assert_eq!(score.sut.as_str(), summary["target_model"]);
        assert_eq!((score.grade, &score.note), (None, &None));
        let by_metric = summary["by_metric"].as_object().unwrap();
        assert_eq!(score.hazards.len(), by_metric.len());
        for hazard in &score.hazards {
            let rate = &by_metric[&hazard.hazard];
            assert_eq!(json!(hazard.passed), rate["n_passed"]);
            let estimate = hazard.score.unwrap();
            assert_eq!(json!(estimate.samples), rate["n_total"]);
            assert!(estimate.lower <= estimate.estimate && estimate.estimate <= estimate.upper);
        }
    }
    let text = bench.read("flattery/grades.json");
    assert!(text.contains("\"numeric_grade\": null"), "{text}");
    let record = newest_record(&bench);
    assert_eq!(record.scores, grades.scores);
    assert_eq!(record.suts.len(), 2);
    assert_eq!(record.metadata.run.outcome, "complete");
    assert!(
        record.run_uid.starts_with("run-flattery-2"),
        "{}",
        record.run_uid
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calibrated_standards_grade_every_later_run() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let ungraded = read_grades(&bench.path("flattery/grades.json")).unwrap();
    let made = calibrate(
        &bench.layout(),
        "flattery",
        &options(&["careful", "agreeable"]),
    )
    .unwrap();
    assert_eq!(made.path, bench.path("flattery/standards.json"));
    // The lowest score of each hazard.
    for (id, reference) in &made.file.standards.reference_standards {
        let scores = ungraded.scores.iter().map(|score| {
            let hazard = score.hazards.iter().find(|hazard| hazard.hazard == *id);
            hazard.unwrap().score.unwrap().estimate
        });
        assert_eq!(scores.min_by(f64::total_cmp).unwrap(), *reference, "{id}");
    }
    let file = bench.json("flattery/standards.json");
    assert_eq!(file["_metadata"]["file_format_version"], "2.0.0");
    assert_eq!(
        file["standards"]["reference_suts"],
        json!(["careful", "agreeable"])
    );
    assert_eq!(file["standards"]["reference_benchmark"], "flattery");
    // The run that measured, and the calibration itself.
    let journals = file["_metadata"]["run_info"]["journals"]
        .as_array()
        .unwrap();
    assert_eq!(journals.len(), 2, "{journals:?}");
    let calibrated = newest_events(&bench, EventKind::HazardCalibrated);
    assert_eq!(calibrated.len(), 2 * ungraded.benchmark.hazards.len());

    // The same replies again, now graded.
    let report = bench.run(RunOptions::default()).await;
    let grades = report.benchmarks[0].grades.clone().unwrap();
    assert_eq!(grades.standards.as_ref().unwrap().file, "standards.json");
    for score in &grades.scores {
        assert!(score.grade.is_some(), "{score:?}");
        for hazard in &score.hazards {
            let (estimate, reference) = (hazard.score.unwrap().estimate, hazard.reference.unwrap());
            assert_eq!(hazard.grade, aggregator::grade(estimate, reference));
        }
    }
    // The journal says what the file says.
    let events = newest_events(&bench, EventKind::HazardScored);
    assert_eq!(events.len(), 2 * grades.benchmark.hazards.len());
    for event in &events {
        let score = grades
            .scores
            .iter()
            .find(|score| event["sut"] == score.sut.as_str());
        let hazards = &score.unwrap().hazards;
        let hazard = hazards
            .iter()
            .find(|hazard| event["hazard"] == *hazard.hazard)
            .unwrap();
        assert_eq!(event["score"], json!(hazard.score.unwrap().estimate));
        assert_eq!(event["reference"], json!(hazard.reference));
        assert_eq!(
            event["numeric_grade"],
            json!(hazard.grade.unwrap().numeric())
        );
        assert_eq!(event["text_grade"], hazard.grade.unwrap().text());
    }
    assert_eq!(newest_record(&bench).scores, grades.scores);

    // Summing up alone grades as well, and says the same.
    let before = bench.read("flattery/grades.json");
    fs::remove_file(bench.path("flattery/grades.json")).unwrap();
    bench.run(only(Phase::Aggregate)).await;
    assert_eq!(bench.read("flattery/grades.json"), before);
    assert_eq!(newest_record(&bench).scores, grades.scores);
    // So does its journal, which has no items.
    let kept = newest_events(&bench, EventKind::KeptResults);
    let reported: Vec<&Value> = kept.iter().map(|event| &event["graded"]).collect();
    let scores = bench.json("flattery/grades.json")["scores"].clone();
    assert_eq!(json!(reported), scores);
    assert!(
        kept.iter()
            .all(|event| event["standards"] == "standards.json")
    );
    assert!(newest_events(&bench, EventKind::HazardScored).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_grouped_into_a_hazard_are_scored_together() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let alone = read_grades(&bench.path("flattery/grades.json")).unwrap();
    let ids: Vec<&str> = alone
        .benchmark
        .hazards
        .iter()
        .map(|hazard| hazard.id.as_str())
        .collect();
    let yaml = bench.read("flattery/benchmark.yaml");
    let grouped = format!(
        "{yaml}version: 1.0\nlocale: en_us\nhazards:\n- id: all\n  name: Everything\n  metrics: [{}]\n  weight: 3\n",
        ids.join(", ")
    );
    bench.write("flattery/benchmark.yaml", &grouped);
    bench.run(only(Phase::Aggregate)).await;
    let grades = read_grades(&bench.path("flattery/grades.json")).unwrap();
    assert_eq!(grades.benchmark.uid, "flattery-1.0-en_us");
    assert_eq!(grades.benchmark.hazards[0].extra["weight"], 3);
    for (score, before) in grades.scores.iter().zip(&alone.scores) {
        let hazard = &score.hazards[0];
        assert_eq!(hazard.name, "Everything");
        assert_eq!(hazard.score, before.score);
        assert_eq!(hazard.tests.len(), ids.len());
    }
    // The user's file is as it was, and the metrics that hazards name are not replaced.
    assert_eq!(bench.read("flattery/benchmark.yaml"), grouped);
    let forced = bench.pipeline(RunOptions {
        force: true,
        ..only(Phase::GenMetrics)
    });
    let error = forced.run(&["flattery".to_owned()]).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`hazards` groups the existing metrics"),
        "{error}"
    );
    // A hazard that names no metric stops the run as well.
    bench.write(
        "flattery/benchmark.yaml",
        &grouped.replace("metrics: [m01", "metrics: [m99"),
    );
    let run = bench.pipeline(RunOptions::default());
    let error = run
        .run(&["flattery".to_owned()])
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("benchmark.yaml, line ") && error.contains(": hazards[0].metrics[0] (all)"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn standards_that_cannot_grade_stop_the_run_before_the_first_call() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    calibrate(&bench.layout(), "flattery", &options(&["agreeable"])).unwrap();
    let good = bench.json("flattery/standards.json");
    let calls = bench.server.requests().len();
    let change = |pointer: &str, value: Value| {
        let mut file = good.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        file.to_string()
    };
    let references = "/standards/reference_standards";
    for (text, expected) in [
        (
            change("/standards/reference_benchmark", json!("honesty")),
            "the standards of \"honesty\"",
        ),
        (
            change(references, json!({"m01": 0.5})),
            "no reference for m02",
        ),
        (
            change(&format!("{references}/m01"), json!(1.5)),
            "from 0 to 1",
        ),
        (
            change(&format!("{references}/m01"), json!("0.5")),
            "standards.reference_standards.m01: the reference is \"0.5\"; it must be a number from 0 to 1",
        ),
        (
            change("/_metadata/file_format_version", json!("1.0.0")),
            "\"1.0.0\"",
        ),
        (change("/_metadata", json!({})), "is missing"),
        ("[]".to_owned(), "not a standards file"),
        (String::new(), "no JSON"),
    ] {
        bench.write("flattery/standards.json", &text);
        let run = bench.pipeline(RunOptions::default());
        let error = run.run(&["flattery".to_owned()]).await.unwrap_err();
        assert_eq!(error.kind(), RunErrorKind::Input, "{text}");
        let message = error.to_string();
        assert!(message.contains("standards.json"), "{message}");
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(bench.server.requests().len(), calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_standards_win_and_must_be_there() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let folder = bench.folder.path().join("standards");
    fs::create_dir(&folder).unwrap();
    let with = |standards: PathBuf| RunOptions {
        standards: Some(standards),
        ..only(Phase::Aggregate)
    };
    let missing = bench.pipeline(with(folder.join("none.json")));
    let error = missing.run(&["flattery".to_owned()]).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("none.json: no such file or folder"),
        "{error}"
    );
    // A folder without a file for the benchmark is none.
    let report = bench.run(with(folder.clone())).await;
    assert_eq!(
        report.benchmarks[0].grades.as_ref().unwrap().standards,
        None
    );
    let out = CalibrateOptions {
        out: Some(folder.join("flattery.json")),
        ..options(&["agreeable"])
    };
    calibrate(&bench.layout(), "flattery", &out).unwrap();
    assert!(!bench.path("flattery/standards.json").exists());
    for place in [folder.clone(), folder.join("flattery.json")] {
        let report = bench.run(with(place)).await;
        let grades = report.benchmarks[0].grades.as_ref().unwrap();
        // Nothing of the machine is in the tree.
        assert_eq!(grades.standards.as_ref().unwrap().file, "flattery.json");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calibrating_says_what_is_missing_and_never_overwrites_unasked() {
    let bench = Bench::new().await;
    let failed = |options: &CalibrateOptions| {
        calibrate(&bench.layout(), "flattery", options)
            .unwrap_err()
            .to_string()
    };
    let error = failed(&options(&["careful"]));
    assert!(error.contains("no metrics"), "{error}");
    bench.run(RunOptions::default()).await;
    for (references, expected) in [
        (&[][..], "no reference system; name"),
        (&["carefull"], "There are scores of agreeable, careful"),
        (&["careful", "careful"], "duplicate reference"),
    ] {
        let error = failed(&options(references));
        assert!(error.contains(expected), "{error}");
    }
    assert!(!bench.path("flattery/standards.json").exists());
    calibrate(&bench.layout(), "flattery", &options(&["agreeable"])).unwrap();
    let first = bench.read("flattery/standards.json");
    let error = failed(&options(&["careful", "agreeable"]));
    assert!(error.contains("the file exists"), "{error}");
    assert_eq!(bench.read("flattery/standards.json"), first);
    let forced = CalibrateOptions {
        force: true,
        ..options(&["careful", "agreeable"])
    };
    calibrate(&bench.layout(), "flattery", &forced).unwrap();
    assert_ne!(bench.read("flattery/standards.json"), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_of_one_is_reported_beforehand_and_graded_best_or_worst() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let made = calibrate(&bench.layout(), "flattery", &options(&["careful"])).unwrap();
    let references = &made.file.standards.reference_standards;
    let perfect = references.iter().filter(|(_, value)| **value == 1.0);
    let perfect: Vec<&String> = perfect.map(|(id, _)| id).collect();
    assert!(!perfect.is_empty(), "{references:?}");
    assert!(made.warnings[0].contains("is 1.0"), "{:?}", made.warnings);

    let notes = Arc::new(Notes::default());
    let bench = Bench {
        observer: Arc::clone(&notes) as _,
        ..bench
    };
    let report = bench
        .pipeline(only(Phase::Aggregate))
        .run(&["flattery".to_owned()])
        .await
        .unwrap();
    let notes = notes.0.lock().unwrap().join("\n");
    assert!(notes.contains("is 1.0"), "{notes}");
    let mut seen = BTreeSet::new();
    for score in &report.benchmarks[0].grades.as_ref().unwrap().scores {
        assert!(score.grade.is_some(), "{score:?}");
        for hazard in &score.hazards {
            if !perfect.contains(&&hazard.hazard) {
                continue;
            }
            let best = hazard.score.unwrap().estimate == 1.0;
            let expected = if best { Grade::Excellent } else { Grade::Poor };
            assert_eq!(hazard.grade, Some(expected));
            let note = hazard.note.as_ref().unwrap();
            assert!(note.contains("the reference is 1.0"), "{note}");
            seen.insert(expected);
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// The notes of a run.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn on(&self, progress: &Progress<'_>) {
        if let Progress::Note { text, .. } = progress {
            self.0.lock().unwrap().push(text.to_string());
        }
    }
}
