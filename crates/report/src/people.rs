//! The rates that people would give, by the labels of some rows.

use interop::{
    figures::people_sheet,
    sheet::{Cell, Column, Sheet},
};
use schema::{
    ModelId,
    statistics::{JudgeAgainstPeople, Statistics},
};

use crate::numbers::points;

/// A table for each model whose rows people labelled: the agreement of the judge with them, and the rates that people would give. With
/// `metrics`, there is a line for each metric.
#[must_use]
pub fn people_sheets(statistics: &Statistics, metrics: bool) -> Vec<Sheet> {
    let targets = statistics.targets.iter();
    let labelled = targets.filter_map(|of| Some((&of.target, of.judge.as_ref()?.people.as_ref()?)));
    labelled
        .map(|(target, people)| {
            let title = format!("judge against people: {target}");
            people_sheet(&title, Some(target), people, metrics)
        })
        .collect()
}

/// How wide the 95% interval of the corrected rate is so far, and that of the judge's own rate, both from 0 to 1, as a sentence without
/// an end. It names no rate, so that people who label do not learn how often the judge passes rows.
#[must_use]
pub fn corrected_width(corrected: Option<f64>, judge: Option<f64>) -> String {
    match (corrected, judge) {
        (None, _) => {
            "the corrected rate is not known until rows of both verdicts are labelled".to_owned()
        }
        (Some(corrected), judge) => {
            let judge = judge.map_or_else(String::new, |judge| {
                format!(" (the judge's own: {})", points(judge))
            });
            format!(
                "95% interval of the corrected rate: {} wide{judge}",
                points(corrected)
            )
        }
    }
}

/// The rates that people would give to compared targets.
#[must_use]
pub fn compared_people_sheet(people: &[(ModelId, JudgeAgainstPeople)]) -> Sheet {
    let columns = vec![
        Column::name("model"),
        Column::number("labelled"),
        Column::number("agree"),
        Column::number("judge"),
        Column::number("corrected"),
        Column::number("95% interval"),
    ];
    let mut sheet = Sheet::new("compared-people", "judge against people", columns);
    for (target, people) in people {
        let all = people.scopes.first();
        let corrected = all.map(|all| &all.corrected);
        sheet.row(vec![
            Cell::target(target),
            people.labelled.into(),
            Cell::rate(all.and_then(|all| all.agreement)),
            Cell::rate(corrected.and_then(|rate| rate.judge_rate)),
            Cell::rate(corrected.and_then(|rate| rate.estimate)),
            Cell::interval(corrected.and_then(|rate| rate.lower.zip(rate.upper))),
        ]);
    }
    if sheet.is_empty() {
        return sheet;
    }
    sheet.note("The comparisons take the judge at its word. Corrected: the rate over all rows that people would give.");
    sheet
}
