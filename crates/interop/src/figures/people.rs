//! The agreement of a judge with people who labelled some of its rows.

use schema::{
    ModelId,
    numbers::{percent, rate, rounded},
    statistics::{AgreementStatistics, JudgeAgainstPeople, JudgeAgreement},
    text::counted,
};

use crate::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip, UNKNOWN};

/// The note below every table with a corrected rate.
const CORRECTED: &str = "Corrected: the rate that people would give, by the labels of rows that the judge passed and of rows that it failed; - where \
    none of either is labelled.";

/// The agreement of a judge with people, under `title`. With `metrics`, there is a line for each metric.
#[must_use]
pub fn people_sheet(
    title: &str,
    target: Option<&ModelId>,
    people: &JudgeAgainstPeople,
    metrics: bool,
) -> Sheet {
    let columns = vec![
        Column::name("rows of"),
        Column::number("rows"),
        Column::number("agree"),
        Column::number("kappa"),
        Column::number("AC1"),
        Column::number("judge's rate").short("judge"),
        Column::chart(Axis::Rate),
        Column::number("corrected").drawn(),
        Column::number("95% interval").drawn(),
    ];
    let title = format!(
        "{title} ({} labelled by {})",
        counted(people.labelled, "row", "rows"),
        counted(people.labellers, "person", "people"),
    );
    let mut sheet = Sheet::new("people", title, columns);
    for scope in shown(people, metrics) {
        sheet.row(row(target, scope));
    }
    sheet.notes.extend(people_notes(people));
    if !people.scopes.is_empty() {
        sheet.note(CORRECTED);
    }
    sheet
}

fn row(target: Option<&ModelId>, scope: &JudgeAgreement) -> Vec<Cell> {
    let corrected = &scope.corrected;
    let ends = corrected.lower.zip(corrected.upper);
    let pooled = ["all", "positive", "negative"].contains(&scope.scope.as_str());
    let rows = RowsOf {
        target: target.cloned(),
        metric: (!pooled).then(|| scope.scope.clone()),
    };
    let of = target.map_or_else(String::new, |target| format!("{target}, "));
    let in_words = corrected
        .estimate
        .map_or_else(|| UNKNOWN.to_owned(), |share| rate(share, ends));
    let strip = Strip {
        estimate: corrected.estimate,
        interval: ends,
        bounds: None,
        title: format!("{of}{}: corrected rate {in_words}", scope.scope),
    };
    vec![
        match pooled {
            true => Cell::about(&scope.scope, rows.clone()),
            false => Cell::metric(&scope.scope, rows.clone()),
        },
        scope.rows.into(),
        Cell::rate(scope.agreement),
        coefficient(scope.kappa).into(),
        coefficient(scope.ac1).into(),
        Cell::rate(corrected.judge_rate),
        Cell::drawn(strip, rows),
        Cell::rate(corrected.estimate),
        Cell::interval(ends),
    ]
}

/// The scopes to show: all rows, then each type of metric that does not cover all rows, then each metric if `metrics` is set.
fn shown(people: &JudgeAgainstPeople, metrics: bool) -> Vec<&JudgeAgreement> {
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
#[must_use]
pub fn people_notes(people: &JudgeAgainstPeople) -> Vec<String> {
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
    let said = people.notes.iter();
    notes.extend(said.map(|note| format!("{}.", first_upper(note))));
    notes
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn between(people: &AgreementStatistics) -> String {
    match people.rows {
        0 => "No row has the labels of two people.".to_owned(),
        rows => format!(
            "People agree with each other in {} of the pairs of labels of a row, as a mean over {}: alpha {}, AC1 {}.",
            people.agreement.map_or_else(|| UNKNOWN.to_owned(), percent),
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
#[must_use]
pub fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(
        || UNKNOWN.to_owned(),
        |value| match rounded(value, 2).as_str() {
            "1.00" if value < 1.0 => ">0.99".to_owned(),
            text => text.to_owned(),
        },
    )
}
