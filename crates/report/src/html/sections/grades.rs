//! Scores of hazards with their grades, and the rules of a gate.

use super::{Block, Section, SectionPart};
use crate::{
    gate::{gate_sheet, heading},
    grades::grades_sheet,
    text::clean,
};

/// A table with more lines is folded.
const OPEN: usize = 60;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let sheet = grades_sheet("Grades", place.part.grades.as_ref()?)?;
    let block = match sheet.lines.len() {
        0 => return None,
        lines if lines > OPEN => Block::Folded(sheet),
        _ => Block::Table(sheet),
    };
    place.section("grades", "Grades", vec![block])
}

pub(super) fn gate<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let report = place.part.gate.as_ref()?;
    let mut rules = gate_sheet(report);
    "Rules of the gate".clone_into(&mut rules.title);
    let blocks = vec![Block::Lead(clean(&heading(report))), Block::Table(rules)];
    place.section("gate", "Gate", blocks)
}
