//! The agreement of a judge with people who labelled some of its rows.

use schema::{
    ModelId,
    statistics::{
        AgreementStatistics, CorrectedDifference, JudgeAgainstPeople, JudgeAgreement, Statistics,
    },
    text::counted,
};

use crate::{
    judge_check::escaped,
    numbers::{UNKNOWN, grouped, interval, percent, point_digits, point_interval, points, rounded},
    table::Table,
    text::{clean, wrapped},
};

/// A table for each model whose rows people labelled: the agreement of the judge with them, and the rates that people would give. With
/// `metrics`, there is a line for each metric. A last table has the differences of the corrected rates. Empty without labels.
#[must_use]
pub fn people_tables(statistics: &Statistics, metrics: bool, width: usize) -> String {
    let mut text = String::new();
    for target in &statistics.targets {
        let judge = target.judge.as_ref();
        if let Some(people) = judge.and_then(|judge| judge.people.as_ref()) {
            let title = format!("judge against people: {}", target.target);
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&people_table(&title, people, metrics, width));
        }
    }
    let differences = corrected_differences_table(&statistics.corrected_differences, None, width);
    if !differences.is_empty() {
        text.push('\n');
    }
    text + &differences
}

/// The differences of corrected rates as a table. Empty without any. `names` are the names of the two sides of a target that is compared
/// with itself; `None` means their ids.
#[must_use]
pub fn corrected_differences_table(
    differences: &[CorrectedDifference],
    names: Option<[&str; 2]>,
    width: usize,
) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let sides: &[&str] = if names.is_some() {
        &["target"]
    } else {
        &["A", "B"]
    };
    let header: Vec<&str> = sides.iter().chain(&VALUES).copied().collect();
    let mut table = Table::new(sides.len(), &header);
    for pair in differences {
        table.row(difference_cells(pair, names));
    }
    let mut title = title(names);
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let mut text = format!("{title}\n{}", table.render(width));
    text.push_str(&wrapped(CorrectedDifference::NO_P, "  ", width));
    text
}

/// The same table as [`corrected_differences_table`], in Markdown.
#[must_use]
pub fn corrected_differences_markdown(
    differences: &[CorrectedDifference],
    names: Option<[&str; 2]>,
) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let (sides, rule) = match names {
        Some(_) => ("target", "---"),
        None => ("A | B", "---|---"),
    };
    let mut text = format!(
        "**{}**\n\n| {sides} | {} |\n|{rule}|--:|---|\n",
        escaped(&title(names)),
        VALUES.join(" | ")
    );
    for pair in differences {
        let cells = difference_cells(pair, names);
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text.push_str(&format!("\n{}\n", CorrectedDifference::NO_P));
    text
}

/// The last columns of the table.
const VALUES: [&str; 2] = ["points", "95% interval"];

fn title(names: Option<[&str; 2]>) -> String {
    let sides = names.map_or_else(String::new, |[a, b]| {
        format!(": A {}, B {}", clean(a), clean(b))
    });
    format!("{}{sides}", CorrectedDifference::TITLE)
}

fn difference_cells(pair: &CorrectedDifference, names: Option<[&str; 2]>) -> Vec<String> {
    let mut cells = vec![clean(pair.a.as_str())];
    if names.is_none() {
        cells.push(clean(pair.b.as_str()));
    }
    cells.push(point_digits(pair.difference));
    cells.push(point_interval((pair.lower, pair.upper)));
    cells
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

/// The rates that people would give to compared targets. Empty without labels.
#[must_use]
pub fn compared_people(people: &[(ModelId, JudgeAgainstPeople)], width: usize) -> String {
    if people.is_empty() {
        return String::new();
    }
    let header = [
        "model",
        "labelled",
        "agree",
        "judge",
        "corrected",
        "95% interval",
    ];
    let mut table = Table::new(1, &header);
    for row in compared_rows(people) {
        table.row(row.to_vec());
    }
    let mut text = format!("judge against people\n{}", table.render(width));
    text.push_str(&wrapped(COMPARED, "  ", width));
    text
}

/// The same table as [`compared_people`], in Markdown.
#[must_use]
pub fn compared_people_markdown(people: &[(ModelId, JudgeAgainstPeople)]) -> String {
    if people.is_empty() {
        return String::new();
    }
    let mut text = "**Judge against people**\n\n| model | labelled | agree | judge | corrected | 95% interval |\n\
        |---|--:|--:|--:|--:|---|\n"
        .to_owned();
    for [model, cells @ ..] in compared_rows(people) {
        let cells = cells.join(" | ");
        text.push_str(&format!("| {} | {cells} |\n", escaped(&model)));
    }
    text.push_str(&format!("\n{COMPARED}\n"));
    text
}

/// The note below a table of compared targets.
const COMPARED: &str = "The comparisons take the judge at its word. Corrected: the rate over all rows that people would give.";

fn compared_rows(people: &[(ModelId, JudgeAgainstPeople)]) -> impl Iterator<Item = [String; 6]> {
    people.iter().map(|(target, people)| {
        let all = people.scopes.first();
        let corrected = all.map(|all| &all.corrected);
        [
            target.to_string(),
            grouped(people.labelled),
            percent(all.and_then(|all| all.agreement)),
            percent(corrected.and_then(|rate| rate.judge_rate)),
            percent(corrected.and_then(|rate| rate.estimate)),
            interval(corrected.and_then(|rate| rate.lower.zip(rate.upper))),
        ]
    })
}

/// The note below every table with a corrected rate.
pub(crate) const CORRECTED: &str = "Corrected: the rate that people would give, by the labels of rows that the judge passed and of rows that it failed; - where \
    none of either is labelled.";

/// The agreement of a judge with people, under `title`. With `metrics`, there is a line for each metric.
#[must_use]
pub fn people_table(
    title: &str,
    people: &JudgeAgainstPeople,
    metrics: bool,
    width: usize,
) -> String {
    let mut text = format!(
        "{} ({} labelled by {})\n",
        clean(title),
        counted(people.labelled, "row", "rows"),
        counted(people.labellers, "person", "people"),
    );
    let scopes = shown(people, metrics);
    if !scopes.is_empty() {
        let header = [
            "rows of",
            "rows",
            "agree",
            "kappa",
            "AC1",
            "judge",
            "corrected",
            "95% interval",
        ];
        let mut table = Table::new(1, &header);
        for scope in scopes {
            let corrected = &scope.corrected;
            table.row(vec![
                scope.scope.clone(),
                grouped(scope.rows),
                percent(scope.agreement),
                coefficient(scope.kappa),
                coefficient(scope.ac1),
                percent(corrected.judge_rate),
                percent(corrected.estimate),
                interval(corrected.lower.zip(corrected.upper)),
            ]);
        }
        text.push_str(&table.render(width));
    }
    let corrected = (!people.scopes.is_empty()).then(|| CORRECTED.to_owned());
    for note in people_notes(people).into_iter().chain(corrected) {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

/// The scopes to show: all rows, then each type of metric that does not cover all rows, then each metric if `metrics` is set.
pub(crate) fn shown(people: &JudgeAgainstPeople, metrics: bool) -> Vec<&JudgeAgreement> {
    let all = people.scopes.first().map_or(0, |all| all.rows);
    let is_type = |scope: &JudgeAgreement| ["positive", "negative"].contains(&scope.scope.as_str());
    let is_shown = |(place, scope): &(usize, &JudgeAgreement)| match *place {
        0 => true,
        1 | 2 if is_type(scope) => scope.rows < all,
        _ => metrics,
    };
    let scopes = people.scopes.iter().enumerate().filter(is_shown);
    scopes.map(|(_, scope)| scope).collect()
}

/// Notes on the labels, a sentence each.
pub(crate) fn people_notes(people: &JudgeAgainstPeople) -> Vec<String> {
    let mut notes = Vec::new();
    if people.undecided > 0 {
        notes.push(format!(
            "{} left out: people are tied, or found them unclear.",
            counted(people.undecided, "row is", "rows are")
        ));
    }
    let nobody_judged = people.scopes.is_empty() && people.labellers > 1;
    if people.without_verdict > 0 && !nobody_judged {
        notes.push(format!(
            "{} left out: the judge gave no verdict.",
            counted(people.without_verdict, "row is", "rows are")
        ));
    }
    if people.of_earlier_run > 0 {
        notes.push(format!(
            "{} left out: of conversations that an earlier run simulated.",
            counted(people.of_earlier_run, "label is", "labels are")
        ));
    }
    notes.extend(people.between_people.as_ref().map(between));
    match people.scopes.first() {
        Some(all) => notes.extend(one_class(all)),
        None if nobody_judged => {}
        None => notes.push("No row has a verdict of both.".to_owned()),
    }
    notes
}

fn between(people: &AgreementStatistics) -> String {
    match people.rows {
        0 => "No row has the labels of two people.".to_owned(),
        rows => format!(
            "People agree with each other in {} of the pairs of labels of a row, as a mean over {}: alpha {}, AC1 {}.",
            percent(people.agreement),
            counted(rows, "row", "rows"),
            coefficient(people.alpha),
            coefficient(people.ac1)
        ),
    }
}

/// What the agreement means if the judge or the people gave only one verdict, in words.
fn one_class(all: &JudgeAgreement) -> Option<String> {
    let judge = (
        all.both_passed + all.judge_passed,
        all.people_passed + all.both_failed,
    );
    let people = (
        all.both_passed + all.people_passed,
        all.judge_passed + all.both_failed,
    );
    let one = |(passed, failed): (u64, u64)| match (passed, failed) {
        (_, 0) => Some("passed"),
        (0, _) => Some("failed"),
        _ => None,
    };
    match (one(judge), one(people)) {
        (Some(judge), Some(people)) if judge == people => Some(format!(
            "Judge and people {judge} every labelled row: kappa is not defined, and nothing shows that the judge would notice the other case."
        )),
        (Some(judge), _) => Some(format!(
            "The judge {judge} every labelled row: kappa is 0 whatever people say, and nothing shows that it would notice the other case."
        )),
        (None, Some(people)) => Some(format!(
            "People {people} every labelled row: kappa is 0 whatever the judge says. Label rows that they would not have {people}."
        )),
        (None, None) => None,
    }
}

/// A coefficient of agreement with two digits.
pub(crate) fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(
        || UNKNOWN.to_owned(),
        |value| match rounded(value, 2).as_str() {
            "1.00" if value < 1.0 => ">0.99".to_owned(),
            text => text.to_owned(),
        },
    )
}
