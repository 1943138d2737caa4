//! The full result of `judge-check`: counts of both verdicts, coefficients, rates.

use std::fmt::Write as _;

use schema::statistics::{JudgeAgainstPeople, JudgeAgreement};

use crate::{
    numbers::{UNKNOWN, grouped, interval, percent},
    people::{coefficient, people_notes},
    table::Table,
    text::{clean, wrapped},
};

/// The agreement of a judge with people, as text of `width` columns.
#[must_use]
pub fn judge_check_text(title: &str, people: &JudgeAgainstPeople, width: usize) -> String {
    let mut text = format!("{}\n", clean(title));
    for scope in &people.scopes {
        text.push('\n');
        if people.scopes.len() > 1 {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{}", clean(&scope.scope));
        }
        let mut counts = Table::new(1, &["", "judge passed", "judge failed"]);
        for row in counts_of(scope) {
            counts.row(row.to_vec());
        }
        text.push_str(&counts.render(width));
        text.push('\n');
        let mut table = Table::new(1, &["", "value", "95% interval"]);
        for row in measures(scope) {
            table.row(row.to_vec());
        }
        text.push_str(&table.render(width));
    }
    text.push('\n');
    for note in people_notes(people).into_iter().chain(file_notes(people)) {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

/// The same tables as [`judge_check_text`], in Markdown.
#[must_use]
pub fn judge_check_markdown(title: &str, people: &JudgeAgainstPeople) -> String {
    let mut text = format!("**{}**\n", escaped(title));
    for scope in &people.scopes {
        let _ = writeln!(text, "\n{}\n", escaped(&scope.scope));
        text.push_str("| | judge passed | judge failed |\n|---|--:|--:|\n");
        for row in counts_of(scope) {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text.push_str("\n| | value | 95% interval |\n|---|--:|---|\n");
        for row in measures(scope) {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    text.push('\n');
    for note in people_notes(people).into_iter().chain(file_notes(people)) {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text
}

fn counts_of(scope: &JudgeAgreement) -> [[String; 3]; 2] {
    [
        ["people passed", "both_passed", "people_passed"],
        ["people failed", "judge_passed", "both_failed"],
    ]
    .map(|cells| {
        cells.map(|cell| match cell {
            "both_passed" => grouped(scope.both_passed),
            "people_passed" => grouped(scope.people_passed),
            "judge_passed" => grouped(scope.judge_passed),
            "both_failed" => grouped(scope.both_failed),
            name => name.to_owned(),
        })
    })
}

fn measures(scope: &JudgeAgreement) -> Vec<[String; 3]> {
    let row = |name: &str, value: String, ends: Option<(f64, f64)>| {
        let ends = ends.map_or_else(String::new, |ends| interval(Some(ends)));
        [name.to_owned(), value, ends]
    };
    let corrected = &scope.corrected;
    vec![
        row(
            "agreement",
            percent(scope.agreement),
            scope.lower.zip(scope.upper),
        ),
        row("Cohen's kappa", coefficient(scope.kappa), None),
        row("Gwet's AC1", coefficient(scope.ac1), None),
        row(
            "people pass what the judge passed",
            percent(corrected.right_when_passed),
            None,
        ),
        row(
            "people fail what the judge failed",
            percent(corrected.right_when_failed),
            None,
        ),
        row(
            "judge's rate, all rows",
            percent(corrected.judge_rate),
            None,
        ),
        row(
            "corrected rate, all rows",
            percent(corrected.estimate),
            corrected.lower.zip(corrected.upper),
        ),
    ]
}

fn file_notes(people: &JudgeAgainstPeople) -> impl Iterator<Item = String> {
    let mut notes = Vec::new();
    for note in &people.notes {
        notes.push(format!("{}.", first_upper(note)));
    }
    let unknown = people
        .scopes
        .iter()
        .any(|scope| scope.corrected.estimate.is_none());
    if unknown {
        notes.push(format!("A value of {UNKNOWN} is not known."));
    }
    notes.into_iter()
}

fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// Text escaped for a cell of a Markdown table.
pub(crate) fn escaped(text: &str) -> String {
    clean(text)
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}
