//! The full result of `judge-check`: counts of both verdicts, coefficients, rates.

use interop::{
    figures::{coefficient, people_notes},
    sheet::{Cell, Column, Sheet, UNKNOWN, markdown},
};
use schema::statistics::{JudgeAgainstPeople, JudgeAgreement};

use crate::{
    terminal::{sheets_markdown, sheets_text},
    text::{clean, wrapped},
};

/// The agreement of a judge with people, as text of `width` columns.
#[must_use]
pub fn judge_check_text(title: &str, people: &JudgeAgainstPeople, width: usize) -> String {
    let mut text = format!("{}\n\n", clean(title));
    let tables = sheets_text(&sheets(people), width);
    if !tables.is_empty() {
        text.push_str(&tables);
        text.push('\n');
    }
    for note in notes(people) {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

/// The same in Markdown.
#[must_use]
pub fn judge_check_markdown(title: &str, people: &JudgeAgainstPeople) -> String {
    let mut text = format!("**{}**\n\n", markdown::escaped(title));
    text.push_str(&sheets_markdown(&sheets(people)));
    for note in notes(people) {
        text.push_str(&format!("- {}\n", markdown::escaped(&note)));
    }
    text
}

/// For each scope a table of counts and one of measures.
fn sheets(people: &JudgeAgainstPeople) -> Vec<Sheet> {
    let scopes = people.scopes.iter().flat_map(|scope| {
        let title = match people.scopes.len() {
            1 => "",
            _ => &scope.scope,
        };
        [counts(title, scope), measures(scope)]
    });
    scopes.collect()
}

fn notes(people: &JudgeAgainstPeople) -> Vec<String> {
    let mut notes = people_notes(people);
    let mut scopes = people.scopes.iter();
    if scopes.any(|scope| scope.corrected.estimate.is_none()) {
        notes.push(format!("A value of {UNKNOWN} is not known."));
    }
    notes
}

fn counts(title: &str, scope: &JudgeAgreement) -> Sheet {
    let columns = vec![
        Column::name(""),
        Column::number("judge passed"),
        Column::number("judge failed"),
    ];
    let mut sheet = Sheet::new("verdicts", title, columns);
    for (name, passed, failed) in [
        ("people passed", scope.both_passed, scope.people_passed),
        ("people failed", scope.judge_passed, scope.both_failed),
    ] {
        sheet.row(vec![name.into(), passed.into(), failed.into()]);
    }
    sheet
}

fn measures(scope: &JudgeAgreement) -> Sheet {
    let columns = vec![
        Column::name(""),
        Column::number("value"),
        Column::number("95% interval"),
    ];
    let mut sheet = Sheet::new("measures", "", columns);
    let corrected = &scope.corrected;
    let agreement = scope.lower.zip(scope.upper);
    let all = corrected.lower.zip(corrected.upper);
    for (name, value, ends) in [
        ("agreement", Cell::rate(scope.agreement), agreement),
        ("Cohen's kappa", coefficient(scope.kappa).into(), None),
        ("Gwet's AC1", coefficient(scope.ac1).into(), None),
        (
            "people pass what the judge passed",
            Cell::rate(corrected.right_when_passed),
            None,
        ),
        (
            "people fail what the judge failed",
            Cell::rate(corrected.right_when_failed),
            None,
        ),
        (
            "judge's rate, all rows",
            Cell::rate(corrected.judge_rate),
            None,
        ),
        (
            "corrected rate, all rows",
            Cell::rate(corrected.estimate),
            all,
        ),
    ] {
        let ends = ends.map_or_else(Cell::default, |ends| Cell::interval(Some(ends)));
        sheet.row(vec![name.into(), value, ends]);
    }
    sheet
}
