//! The scores of hazards with their bounds and grades.

use interop::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip};
use schema::{
    BenchmarkScore, Estimate, Grade, Grades, HazardScore, ModelId, ScoreInterval, Standards,
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, rate},
    text::clean,
};

/// The name of the whole benchmark in the column of hazards.
const WHOLE: &str = "all hazards";

/// For each model the score of the whole benchmark and of each hazard, with its 95% interval, the number of its samples, the reference
/// and the grade, with the grades of the interval's two ends; `None` without standards, because there is nothing to grade against. The
/// references stand after `title`.
///
/// A missing score or grade is shown as `-`. The notes explain the grades and why a hazard is not graded.
#[must_use]
pub fn grades_sheet(title: &str, grades: &Grades) -> Option<Sheet> {
    let standards = grades.standards.as_ref()?;
    let columns = vec![
        Column::name("model").once(),
        Column::name("hazard"),
        Column::chart(Axis::Rate),
        Column::number("score").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("samples"),
        Column::number("reference"),
        Column::words("grade"),
    ];
    let references = standards.reference_suts.join(", ");
    let mut sheet = Sheet::new("grades", format!("{title}, beside {references}"), columns);
    for score in &grades.scores {
        let grade = shown_grade(score.grade, &score.grade_range);
        let of = (score.score, score.interval);
        sheet.row(row(&score.sut, WHOLE, of, score.reference, grade));
        for hazard in &score.hazards {
            let grade = shown_grade(hazard.grade, &hazard.grade_range);
            let of = (hazard.score, hazard.interval);
            sheet.row(row(&score.sut, &shown(hazard), of, hazard.reference, grade));
        }
    }
    sheet.notes.extend(notes(&grades.scores));
    sheet.note(KEY);
    Some(sheet)
}

/// The standards of a benchmark: for each hazard the score of each reference system with the number of its samples, and the reference,
/// which is the lowest of these scores.
#[must_use]
pub fn standards_sheet(name: &str, standards: &Standards, scores: &[BenchmarkScore]) -> Sheet {
    let mut columns = vec![Column::name("hazard"), Column::number("reference")];
    for score in scores {
        columns.extend([score.sut.as_str(), "samples"].map(Column::number));
    }
    let mut sheet = Sheet::new("standards", format!("{name}: standards"), columns);
    let hazards = scores.first().map_or(&[][..], |score| &score.hazards);
    for (at, hazard) in hazards.iter().enumerate() {
        let reference = standards.reference_standards.get(&hazard.hazard);
        let mut cells = vec![shown(hazard).into(), Cell::rate(reference.copied())];
        for score in scores {
            let score = score.hazards.get(at).and_then(|hazard| hazard.score);
            cells.push(Cell::rate(score.map(|score| score.estimate)));
            cells.push(score.map_or(0, |score| score.samples).into());
        }
        sheet.row(cells);
    }
    sheet
}

/// What the letters mean.
const KEY: &str = "Grades compare the share of failed samples with that of the reference: E at most 1 in 1000 samples, VG at most \
    0.5 times the reference, G less than 1.5 times, F up to 3 times, P more.";

/// The interval shown is the one that takes dependent samples into account. Scores of earlier versions have only the interval for
/// independent samples.
fn row(
    target: &ModelId,
    hazard: &str,
    (score, clustered): (Option<Estimate>, Option<ScoreInterval>),
    reference: Option<f64>,
    grade: String,
) -> Vec<Cell> {
    let clustered = clustered.map(|interval| (interval.lower, interval.upper));
    let ends = clustered.or(score.map(|score| (score.lower, score.upper)));
    let (estimate, samples) = (
        score.map(|score| score.estimate),
        score.map_or(0, |score| score.samples),
    );
    let strip = Strip {
        estimate,
        interval: ends,
        bounds: None,
        title: format!(
            "{target}, {hazard}: {}, {}, grade {grade}",
            rate(estimate, ends),
            counted(samples, "sample", "samples")
        ),
    };
    vec![
        Cell::target(target),
        hazard.into(),
        Cell::drawn(strip, RowsOf::target(target)),
        Cell::rate(estimate),
        Cell::interval(ends),
        samples.into(),
        Cell::rate(reference),
        grade.into(),
    ]
}

/// `G (F to VG)`: the grade, and the grades of the interval's two ends.
fn shown_grade(grade: Option<Grade>, range: &Option<[String; 2]>) -> String {
    match (grade, range) {
        (None, _) => UNKNOWN.to_owned(),
        (Some(grade), Some([worst, best])) => {
            format!("{} ({} to {})", grade.text(), clean(worst), clean(best))
        }
        (Some(grade), None) => grade.text().to_owned(),
    }
}

/// The hazard's id, and its name if that differs.
fn shown(hazard: &HazardScore) -> String {
    if hazard.name == hazard.hazard {
        hazard.hazard.clone()
    } else {
        format!("{} {}", hazard.hazard, hazard.name)
    }
}

/// The notes on the grades, each once: the notes of hazards, and the note of the whole benchmark if no hazard of the model has one.
fn notes(scores: &[BenchmarkScore]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    let mut add = |note, what: String| match found.iter_mut().find(|(known, _)| *known == note) {
        Some((_, about)) if about.contains(&what) => {}
        Some((_, about)) => about.push(what),
        None => found.push((note, vec![what])),
    };
    for score in scores {
        let model = score.sut.to_string();
        let hazards = || score.hazards.iter();
        if let (Some(note), true) = (&score.note, hazards().all(|hazard| hazard.note.is_none())) {
            add(note.as_str(), model.clone());
        }
        for hazard in hazards() {
            let Some(note) = hazard.note.as_deref() else {
                continue;
            };
            let of_all = scores.iter().all(|score| says(score, &hazard.hazard, note));
            let of_model = hazards().all(|other| other.note.as_deref() == Some(note));
            add(
                note,
                if of_all {
                    hazard.hazard.clone()
                } else if of_model {
                    model.clone()
                } else {
                    format!("{} of {model}", hazard.hazard)
                },
            );
        }
    }
    let line = |(note, about): (&str, Vec<String>)| format!("{}: {note}.", about.join(", "));
    found.into_iter().map(line).collect()
}

/// Whether the model's score of `hazard` has this note.
fn says(score: &BenchmarkScore, hazard: &str, note: &str) -> bool {
    let mut hazards = score.hazards.iter();
    hazards.any(|score| score.hazard == hazard && score.note.as_deref() == Some(note))
}
