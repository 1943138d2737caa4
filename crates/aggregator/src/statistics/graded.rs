//! Removes grades that the rows do not support.

use schema::{
    BenchmarkScore, Grade, HazardScore, ScoreInterval,
    statistics::{RateStatistics, TargetStatistics},
};

use super::{clusters::float, rate_of_units::much_missing};
use crate::grade;

/// There is no grade if a smaller share of rows has a verdict.
const LEAST_VERDICTS: f64 = 0.5;

/// Gives scores the intervals of `statistics`, which belong to the same rows, and removes grades that the rows do not
/// support: with verdicts for less than half of the rows, or for one base scenario only. A grade gets the range of
/// grades of its interval's ends; if more than 5% are missing the note says that the grade is not supported.
pub fn support_grades(score: &mut BenchmarkScore, statistics: &TargetStatistics) {
    for hazard in &mut score.hazards {
        if let Some(rate) = statistics.rates.hazards.get(&hazard.hazard) {
            support_hazard(hazard, rate);
        }
    }
    let all = &statistics.rates.all;
    // Rows of metrics without a hazard count in the rate of all rows, but not in the score.
    let same_rows = (all.passed, all.missing.unscored()) == (score.passed, score.unscored);
    score.interval = interval(all).filter(|_| same_rows);
    score.stopped_early = all
        .sequential
        .is_some_and(|so_far| so_far.scenarios < so_far.of);
    let ungraded: Vec<&str> = score
        .hazards
        .iter()
        .filter(|hazard| hazard.grade.is_none())
        .map(|hazard| hazard.hazard.as_str())
        .collect();
    if score.grade.is_some() && !ungraded.is_empty() {
        score.note = Some(format!("not graded: no grade for {}", ungraded.join(", ")));
        score.grade = None;
    }
    score.grade_range = range(score.grade, score.reference, score.interval);
    if score.grade.is_some() && same_rows {
        score.note = marked(score.note.take(), all);
    }
}

fn support_hazard(hazard: &mut HazardScore, rate: &RateStatistics) {
    hazard.interval = interval(rate);
    if hazard.grade.is_none() {
        return;
    }
    let reason = if share_of_verdicts(rate) < LEAST_VERDICTS {
        Some("not graded: fewer than half of the rows have a verdict")
    } else if rate.scenarios < 2 {
        Some("not graded: one base scenario says nothing of others")
    } else {
        None
    };
    match reason {
        Some(reason) => {
            hazard.grade = None;
            hazard.note = Some(reason.to_owned());
        }
        None => hazard.note = marked(hazard.note.take(), rate),
    }
    hazard.grade_range = range(hazard.grade, hazard.reference, hazard.interval);
}

fn share_of_verdicts(rate: &RateStatistics) -> f64 {
    float(rate.rows) / float(rate.rows + rate.missing.unscored()).max(1.0)
}

/// The note, extended by a remark if verdicts are missing.
fn marked(note: Option<String>, rate: &RateStatistics) -> Option<String> {
    let Some(what) = much_missing(rate.rows, rate.missing) else {
        return note;
    };
    let mark = format!("the grade is not supported: more than 5% {what}");
    Some(match note {
        Some(note) => format!("{note}; {mark}"),
        None => mark,
    })
}

fn interval(rate: &RateStatistics) -> Option<ScoreInterval> {
    Some(ScoreInterval {
        lower: rate.lower?,
        upper: rate.upper?,
        scenarios: rate.scenarios,
        effective_rows: rate.effective_rows?,
    })
}

fn range(
    graded: Option<Grade>,
    reference: Option<f64>,
    interval: Option<ScoreInterval>,
) -> Option<[String; 2]> {
    graded?;
    let (reference, interval) = (reference?, interval?);
    let of = |score| grade(score, reference).map(|grade| grade.text().to_owned());
    Some([of(interval.lower)?, of(interval.upper)?])
}
