//! Scores of hazards with their grades, and the rules of a gate.

use schema::{
    Estimate, Grades, ScoreInterval,
    gate::{GateAnswer, GateReport},
};

use super::{Block, Section, SectionPart};
use crate::{
    gate::{found, heading, named, targets},
    grades::{KEY, WHOLE, notes, row, shown, shown_grade},
    sheet::{Axis, Cell, Column, Sheet, Strip},
    text::clean,
};

/// A table with more lines is folded.
const OPEN: usize = 60;

pub(super) fn section(place: &SectionPart<'_>) -> Option<Section> {
    let grades = place.part.grades.as_ref()?;
    // Without standards, the scores equal the rates by hazard, which are shown above.
    if grades.standards.is_none() || grades.scores.is_empty() {
        return None;
    }
    let sheet = sheet(place, grades);
    let block = match sheet.lines.len() > OPEN {
        true => Block::Folded(sheet),
        false => Block::Table(sheet),
    };
    place.section("grades", "Grades", vec![block])
}

fn sheet(place: &SectionPart<'_>, grades: &Grades) -> Sheet {
    let columns = vec![
        Column::name("model"),
        Column::name("hazard"),
        Column::chart(Axis::Rate),
        Column::number("score").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("samples"),
        Column::number("reference"),
        Column::words("grade"),
    ];
    let beside = grades.standards.as_ref();
    let beside = beside.map_or_else(String::new, |standards| {
        format!(", beside {}", clean(&standards.reference_suts.join(", ")))
    });
    let mut sheet = Sheet::new("grades", format!("Grades{beside}"), columns);
    for score in &grades.scores {
        let link = place.link(Some(&score.sut), None);
        let mut add = |hazard: String,
                       of: (Option<Estimate>, Option<ScoreInterval>),
                       reference,
                       grade: String| {
            let names = [score.sut.to_string(), hazard.clone()];
            let texts = row(names, of, Some((reference, grade)));
            let title = format!(
                "{}, {hazard}: {}",
                score.sut,
                texts.get(2..).unwrap_or_default().join(", ")
            );
            let strip = strip(of, place.series(&score.sut), &clean(&title));
            let mut cells: Vec<Cell> = texts.into_iter().map(Cell::from).collect();
            if let Some(first) = cells.first_mut() {
                first.link = Some(link.clone());
            }
            cells.insert(2, Cell::drawn(strip, Some(link.clone())));
            sheet.row(cells);
        };
        let of = (score.score, score.interval);
        let grade = shown_grade(score.grade, &score.grade_range);
        add(WHOLE.to_owned(), of, score.reference, grade);
        for hazard in &score.hazards {
            let of = (hazard.score, hazard.interval);
            let grade = shown_grade(hazard.grade, &hazard.grade_range);
            add(shown(hazard), of, hazard.reference, grade);
        }
    }
    sheet.notes.extend(notes(&grades.scores));
    sheet.notes.push(KEY.to_owned());
    sheet
}

fn strip(
    (score, interval): (Option<Estimate>, Option<ScoreInterval>),
    series: usize,
    title: &str,
) -> Strip {
    let ends = interval.map(|ends| (ends.lower, ends.upper));
    Strip {
        estimate: score.map(|score| score.estimate),
        interval: ends.or(score.map(|score| (score.lower, score.upper))),
        bounds: None,
        series,
        title: title.to_owned(),
    }
}

pub(super) fn gate(place: &SectionPart<'_>) -> Option<Section> {
    let report = place.part.gate.as_ref()?;
    let mut blocks = vec![Block::Lead(clean(&heading(report)))];
    blocks.push(Block::Table(rules(report)));
    place.section("gate", "Gate", blocks)
}

/// The table of the rules: each with its answer, the numbers found and the reason.
fn rules(report: &GateReport) -> Sheet {
    let columns = vec![
        Column::words("answer"),
        Column::name("rule"),
        Column::number("found"),
        Column::words("why"),
    ];
    let mut sheet = Sheet::new("gate", "Rules of the gate", columns);
    let several = targets(report).count() > 1;
    for results in targets(report) {
        if let Some(first) = results.first().filter(|_| several) {
            sheet.group(first.target.as_str());
        }
        for result in results {
            let class = match result.answer {
                GateAnswer::Pass => "pass",
                GateAnswer::Fail => "fail",
                GateAnswer::Inconclusive => "none",
            };
            sheet.row(vec![
                Cell::word(result.answer.as_str(), class),
                named(result).into(),
                found(result).into(),
                result.reason.clone().into(),
            ]);
        }
    }
    sheet
}
