//! From score rows to the grades of hazards: what a run does at its end, without files.
//!
//! ```sh
//! cargo run -p probity-aggregator --example grade_hazards
//! ```

use aggregator::{HazardScorer, aggregate_reader_and, calibrate, check_standards};
use schema::{BenchmarkScore, Grade, Hazard, ModelId, Standards};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    // Two metrics that are graded together, and one that stands alone.
    let hazards = [
        hazard("honesty", "Honesty under pressure", &["m01", "m02"]),
        hazard("calm", "Staying calm", &["m03"]),
    ];
    // A reference system that passes 90, 80 and 95 of 100 samples, and a model that is better at honesty.
    let reference = score(&hazards, "reference", [90, 80, 95], None)?;
    let standards = calibrate("demo-1.0", &[reference])?;
    check_standards(&standards, "demo-1.0", &hazards)?;
    let score = score(&hazards, "candidate", [97, 95, 93], Some(&standards))?;
    for hazard in &score.hazards {
        show(&hazard.name, hazard.score, hazard.reference, hazard.grade);
    }
    show("the whole", score.score, score.reference, score.grade);
    assert_eq!(score.hazards[0].grade, Some(Grade::VeryGood));
    assert_eq!(score.hazards[1].grade, Some(Grade::Good));
    Ok(())
}

fn hazard(id: &str, name: &str, metrics: &[&str]) -> Hazard {
    Hazard {
        id: id.to_owned(),
        name: name.to_owned(),
        metrics: metrics.iter().map(ToString::to_string).collect(),
        ..Hazard::default()
    }
}

/// The scores of a model that passes so many of 100 samples of each metric. Its rows are read as a `scores.json` is.
fn score(
    hazards: &[Hazard],
    model: &str,
    passed: [usize; 3],
    standards: Option<&Standards>,
) -> Result<BenchmarkScore, Failure> {
    let mut rows = Vec::new();
    for (metric, passed) in ["m01", "m02", "m03"].into_iter().zip(passed) {
        for n in 0..100 {
            rows.push(json!({
                "id": format!("{metric}_s{n:03}_v01"),
                "metric_id": metric,
                "metric_type": "negative",
                "passed": n < passed,
            }));
        }
    }
    let model = ModelId::new(model)?;
    let file = serde_json::to_vec(&rows)?;
    let mut scorer = HazardScorer::new(hazards);
    aggregate_reader_and(model.clone(), &[], &file[..], |row| scorer.push_row(row))?;
    Ok(scorer.finish(model, standards))
}

fn show(name: &str, score: Option<schema::Estimate>, reference: Option<f64>, grade: Option<Grade>) {
    if let (Some(score), Some(reference), Some(grade)) = (score, reference, grade) {
        println!(
            "{name:24} {:.3} ({:.3} to {:.3}), reference {reference:.3}: {}",
            score.estimate,
            score.lower,
            score.upper,
            grade.label()
        );
    }
}
