//! The agreement of judges with each other and with people, and the rates that people would give.

use schema::{
    ModelId,
    statistics::{CorrectedDifference, JudgeAgainstPeople, JudgeStatistics, TargetStatistics},
    text::counted,
};

use super::{Block, Section, SectionPart};
use crate::{
    judges::{again, in_words, share},
    numbers::{compact_interval, percent, point_digits, point_interval, points_with_interval},
    people::{CORRECTED, coefficient, people_notes, shown},
    sheet::{Axis, Cell, Column, Sheet, Strip},
    text::clean,
};

pub(super) fn section(place: &SectionPart<'_>) -> Option<Section> {
    let targets = &place.part.statistics.targets;
    let with_judge = targets
        .iter()
        .filter_map(|target| Some((target, target.judge.as_ref()?)));
    let with_judge: Vec<(&TargetStatistics, &JudgeStatistics)> = with_judge.collect();
    let mut blocks = Vec::new();
    let panel = panel(place, &with_judge);
    if !panel.is_empty() {
        blocks.push(Block::Table(panel));
    }
    for (target, judge) in &with_judge {
        if let Some(people) = &judge.people {
            blocks.push(Block::Table(against_people(place, target, people)));
        }
    }
    blocks.extend(differences(place).map(Block::Table));
    place.section("judges", "Judges", blocks)
}

/// The differences of corrected rates. With a baseline, only its pairs, with the baseline as the first target.
fn differences(place: &SectionPart<'_>) -> Option<Sheet> {
    let columns = vec![
        Column::name("A"),
        Column::name("B"),
        Column::chart(Axis::Difference),
        Column::number("points").drawn(),
        Column::number("95% interval").drawn(),
    ];
    let mut sheet = Sheet::new("corrected-differences", CorrectedDifference::TITLE, columns);
    let baseline = place.summary.baseline.as_ref();
    for pair in &place.part.statistics.corrected_differences {
        let pair = match baseline {
            Some(baseline) if pair.b == *baseline => swapped(pair),
            Some(baseline) if pair.a != *baseline => continue,
            _ => pair.clone(),
        };
        let strip = Strip {
            estimate: Some(pair.difference),
            interval: Some((pair.lower, pair.upper)),
            bounds: None,
            series: place.series(&pair.a),
            title: clean(&format!(
                "{} less {}: difference of corrected rates {}",
                pair.a,
                pair.b,
                points_with_interval(pair.difference, (pair.lower, pair.upper))
            )),
        };
        let link = |id: &ModelId| place.link(Some(id), None);
        sheet.row(vec![
            Cell::linked(pair.a.as_str(), link(&pair.a)),
            Cell::linked(pair.b.as_str(), link(&pair.b)),
            Cell::drawn(strip, Some(link(&pair.a))),
            point_digits(pair.difference).into(),
            point_interval((pair.lower, pair.upper)).into(),
        ]);
    }
    sheet.notes.push(CorrectedDifference::NO_P.to_owned());
    (!sheet.lines.is_empty()).then_some(sheet)
}

fn swapped(pair: &CorrectedDifference) -> CorrectedDifference {
    CorrectedDifference {
        a: pair.b.clone(),
        b: pair.a.clone(),
        difference: -pair.difference,
        lower: -pair.upper,
        upper: -pair.lower,
    }
}

/// The table of the judges of panels, one by one.
fn panel(place: &SectionPart<'_>, targets: &[(&TargetStatistics, &JudgeStatistics)]) -> Sheet {
    let columns = vec![
        Column::name("model"),
        Column::name("judge"),
        Column::number("verdicts"),
        Column::number("behaviour found"),
        Column::number("no verdict"),
        Column::number("as the panel"),
    ];
    let mut sheet = Sheet::new("judges", "Judges one by one", columns);
    for (target, judge) in targets {
        let id = clean(target.target.as_str());
        for one in &judge.judges {
            sheet.row(vec![
                Cell::linked(&*id, place.link(Some(&target.target), None)),
                one.judge.clone().into(),
                one.rows.into(),
                percent(share(one)).into(),
                one.missing.into(),
                percent(one.with_panel).into(),
            ]);
        }
        if judge.agreement.rows > 0 {
            let agreement = in_words(&judge.agreement, judge.judges.len());
            sheet.notes.push(format!("{id}: {agreement}."));
        }
        for one in judge.judges.iter().filter(|one| !one.readings.is_empty()) {
            let readings: Vec<String> = one.readings.iter().map(again).collect();
            let judge = clean(&one.judge);
            sheet.notes.push(format!(
                "{id}: {judge} said the same {}.",
                readings.join(", ")
            ));
        }
    }
    sheet
}

/// The agreement of a judge with people, scope by scope.
fn against_people(
    place: &SectionPart<'_>,
    target: &TargetStatistics,
    people: &JudgeAgainstPeople,
) -> Sheet {
    let columns = vec![
        Column::name("rows of"),
        Column::number("rows"),
        Column::number("agree"),
        Column::number("kappa"),
        Column::number("AC1"),
        Column::number("judge's rate"),
        Column::chart(Axis::Rate),
        Column::number("corrected").drawn(),
        Column::number("95% interval").drawn(),
    ];
    let title = format!(
        "{}: judge against people ({} labelled by {})",
        clean(target.target.as_str()),
        counted(people.labelled, "row", "rows"),
        counted(people.labellers, "person", "people"),
    );
    let mut sheet = Sheet::new("people", title, columns);
    for scope in shown(people, true) {
        let corrected = &scope.corrected;
        let ends = corrected.lower.zip(corrected.upper);
        let pooled = ["all", "positive", "negative"].contains(&scope.scope.as_str());
        let metric = (!pooled).then_some(scope.scope.as_str());
        let link = place.link(Some(&target.target), metric);
        let strip = Strip {
            estimate: corrected.estimate,
            interval: ends,
            bounds: None,
            series: place.series(&target.target),
            title: clean(&format!(
                "{}, {}: corrected rate {}, 95% interval {}",
                target.target,
                scope.scope,
                percent(corrected.estimate),
                compact_interval(ends)
            )),
        };
        sheet.row(vec![
            place.metric(&scope.scope, link.clone()),
            scope.rows.into(),
            percent(scope.agreement).into(),
            coefficient(scope.kappa).into(),
            coefficient(scope.ac1).into(),
            percent(corrected.judge_rate).into(),
            Cell::drawn(strip, Some(link)),
            percent(corrected.estimate).into(),
            compact_interval(ends).into(),
        ]);
    }
    sheet.notes.extend(people_notes(people));
    if !people.scopes.is_empty() {
        sheet.notes.push(CORRECTED.to_owned());
    }
    sheet
}
