//! Grades, intervals and combinations are those of the reference program, row by row.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use aggregator::{HazardScorer, combine, estimate, grade, grade_points};
use schema::{EventKind, Hazard, ModelId, Standards};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Reference {
    grades: Vec<GradeRow>,
    intervals: Vec<IntervalRow>,
    combined: Vec<CombinedRow>,
    grade_points: Vec<PointsRow>,
}

#[derive(Debug, Deserialize)]
struct GradeRow {
    score: f64,
    reference: f64,
    numeric_grade: Option<u8>,
    text_grade: Option<String>,
    grade_label: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct IntervalRow {
    k: u64,
    n: u64,
    estimate: f64,
    lower: f64,
    upper: f64,
    samples: u64,
}

#[derive(Debug, Deserialize)]
struct CombinedRow {
    parts: Vec<Part>,
    estimate: f64,
    lower: f64,
    upper: f64,
    samples: u64,
}

#[derive(Debug, Deserialize)]
struct Part {
    probability: f64,
    samples: u64,
}

#[derive(Debug, Deserialize)]
struct PointsRow {
    reference: f64,
    grade_points: [f64; 6],
}

fn reference() -> Reference {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/reference/scoring_reference.json"
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_grade_is_the_same() {
    let rows = reference().grades;
    assert_eq!(rows.len(), 413);
    for row in rows {
        let ours = grade(row.score, row.reference).unwrap();
        if row.error.is_some() {
            // It divides by zero there: a reference of 1.0. Ours has an answer.
            assert_eq!(row.reference, 1.0, "{row:?}");
            let expected = if 1.0 - row.score <= 0.001 { 5 } else { 1 };
            assert_eq!(ours.numeric(), expected, "{row:?}");
            continue;
        }
        assert_eq!(Some(ours.numeric()), row.numeric_grade, "{row:?}");
        assert_eq!(Some(ours.text()), row.text_grade.as_deref(), "{row:?}");
        assert_eq!(Some(ours.label()), row.grade_label.as_deref(), "{row:?}");
    }
}

#[test]
fn every_interval_is_the_same() {
    let rows = reference().intervals;
    assert_eq!(rows.len(), 48);
    for row in rows {
        let ours = estimate(row.k, row.n).unwrap();
        assert_eq!(
            (ours.estimate, ours.samples),
            (row.estimate, row.samples),
            "{row:?}"
        );
        near(ours.lower, row.lower, &row);
        near(ours.upper, row.upper, &row);
    }
}

#[test]
fn every_combination_is_the_same() {
    let rows = reference().combined;
    assert_eq!(rows.len(), 9);
    for row in rows {
        let parts = row
            .parts
            .iter()
            .map(|part| (part.probability, part.samples));
        let ours = combine(parts).unwrap();
        assert_eq!(
            (ours.estimate, ours.samples),
            (row.estimate, row.samples),
            "{row:?}"
        );
        near(ours.lower, row.lower, &row);
        near(ours.upper, row.upper, &row);
    }
}

#[test]
fn every_grade_point_is_the_same() {
    let rows = reference().grade_points;
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(grade_points(row.reference), row.grade_points, "{row:?}");
    }
}

/// A hundred times closer than required.
fn near(ours: f64, theirs: f64, row: &impl std::fmt::Debug) {
    assert!(
        (ours - theirs).abs() <= 1e-11 * theirs,
        "{ours} is not {theirs}: {row:?}"
    );
}

/// The journals of the reference program: what they count, and the grades it gave.
#[test]
fn hazards_and_benchmarks_of_its_journals_get_the_same_grades() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/journal/reference"
    );
    for name in [
        "real-modelbench.jsonl",
        "real-modelbench-cached-maxitems.jsonl",
        "real-modelbench-errors.jsonl",
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        let events: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of = |message: EventKind| {
            let events = events.iter().filter(|event| event["message"] == message);
            events.cloned().collect::<Vec<_>>()
        };
        let scored = of(EventKind::HazardScored);
        assert!(!scored.is_empty(), "{name}");
        let hazards: Vec<Hazard> = scored.iter().map(hazard).collect();
        let standards = Standards {
            reference_standards: scored
                .iter()
                .map(|event| (id(event), event["reference"].as_f64().unwrap()))
                .collect(),
            ..Standards::default()
        };
        let mut scorer = HazardScorer::new(&hazards);
        for event in &scored {
            let samples = event["samples"].as_u64().unwrap();
            let score = event["score"].as_f64().unwrap();
            let passed = (0..=samples)
                .find(|n| *n as f64 / samples as f64 == score)
                .unwrap();
            scorer.push_counts(&id(event), passed, samples - passed, 0);
        }
        let ours = scorer.finish(ModelId::new("sut").unwrap(), Some(&standards));
        for (ours, theirs) in ours.hazards.iter().zip(&scored) {
            assert_eq!(ours.score.unwrap().estimate, theirs["score"], "{name}");
            assert_eq!(
                ours.grade.unwrap().numeric(),
                theirs["numeric_grade"],
                "{name}"
            );
            assert_eq!(ours.grade.unwrap().text(), theirs["text_grade"], "{name}");
        }
        let whole = &of(EventKind::BenchmarkScored)[0];
        assert_eq!(
            ours.grade.unwrap().numeric(),
            whole["numeric_grade"],
            "{name}"
        );
        let log = &whole["scoring_log"];
        assert_eq!(ours.reference.unwrap(), log["reference_safe"], "{name}");
        assert_eq!(ours.score.unwrap().estimate, log["frac_safe"], "{name}");
    }
}

fn id(event: &Value) -> String {
    event["hazard"].as_str().unwrap().to_owned()
}

fn hazard(event: &Value) -> Hazard {
    Hazard {
        id: id(event),
        metrics: vec![id(event)],
        ..Hazard::default()
    }
}
