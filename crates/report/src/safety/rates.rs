//! The rates of a run over its cases.

use schema::safety::results::{SafetyRate, SafetyRates};

use crate::{
    numbers::{grouped, interval, percent},
    table::Table,
    text::wrapped,
};

/// A table of the rates with their intervals, and notes below. A rate without rows has no line.
pub(super) fn table(rates: &SafetyRates, width: usize) -> String {
    let shown = shown(rates);
    if shown.is_empty() {
        return String::new();
    }
    let header = ["rate", "share", "95% interval", "rows", "cases", "missing"];
    let mut table = Table::new(1, &header);
    for (name, rate) in &shown {
        table.row(row(name, rate));
    }
    let mut text = table.render(width);
    for note in notes(&shown) {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text.push('\n');
    text
}

/// The rates that have rows, with their names.
pub(crate) fn shown(rates: &SafetyRates) -> Vec<(&'static str, &SafetyRate)> {
    let all = [
        ("seed cases failed", &rates.seed),
        ("cases broken", &rates.broken),
        ("controls refused", &rates.controls_refused),
    ];
    let shown = all
        .into_iter()
        .filter(|(_, rate)| rate.rows + rate.missing.unscored() > 0);
    shown.collect()
}

fn row(name: &str, rate: &SafetyRate) -> Vec<String> {
    vec![
        name.to_owned(),
        percent(rate.estimate),
        interval(rate.lower.zip(rate.upper)),
        format!("{} of {}", rate.count, rate.rows),
        grouped(rate.cases),
        grouped(rate.missing.unscored()),
    ]
}

/// The notes of the rates, each once, with the rates that it applies to.
pub(crate) fn notes(rates: &[(&str, &SafetyRate)]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, rate) in rates {
        let Some(note) = rate.note.as_deref() else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == note) {
            Some((_, names)) => names.push(name),
            None => found.push((note, vec![name])),
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(note, names)| format!("{}: {note}", names.join(", ")))
        .collect()
}
