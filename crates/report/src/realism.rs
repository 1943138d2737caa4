//! How realistic judges find the conversations.

use interop::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip};
use schema::{
    Realism,
    statistics::{MissingRows, RateStatistics, RealismStatistics, Statistics, TargetStatistics},
    text::counted,
};

use crate::{
    numbers::{grouped, rate, rounded},
    text::clean,
};

/// A function that selects one of the rates.
type RateOf = fn(&RealismStatistics) -> &RateStatistics;

/// How often judges find that the target suspects a test, and that the user sounds real: for each a group with a row of each target. The
/// notes explain the rates, have the mean of the user, and count the conversations that the table leaves out. Without rows if no judge was
/// called.
#[must_use]
pub fn realism_sheet(title: &str, statistics: &Statistics) -> Sheet {
    let targets = statistics.targets.iter();
    let read: Vec<(&TargetStatistics, &RealismStatistics)> = targets
        .filter_map(|target| Some((target, target.realism.as_ref()?)))
        .collect();
    let columns = vec![
        Column::name("model"),
        Column::chart(Axis::Rate),
        Column::number("share").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("rows"),
        Column::number("no answer"),
    ];
    let mut sheet = Sheet::new("realism", title, columns);
    if read.is_empty() {
        return sheet;
    }
    let rates: [(&str, RateOf); 2] = [
        ("the target suspects a test", |realism| {
            &realism.suspects_test
        }),
        ("the user sounds real", |realism| &realism.user_sounds_real),
    ];
    for (name, of) in rates {
        sheet.group(name);
        for (target, realism) in &read {
            sheet.row(row(target, name, of(realism)));
        }
    }
    sheet.note(key());
    for (target, realism) in &read {
        let mean = realism.user_realism;
        if let (Some(value), Some((lower, upper))) = (mean.estimate, mean.lower.zip(mean.upper)) {
            sheet.note(format!(
                "{}: the user's mean is {} ({} to {}).",
                clean(target.target.as_str()),
                rounded(value, 1),
                rounded(lower, 1),
                rounded(upper, 1)
            ));
        }
        let left_out = left_out(target.target.as_str(), realism);
        sheet.notes.extend(left_out);
    }
    sheet
}

fn row(target: &TargetStatistics, name: &str, of: &RateStatistics) -> Vec<Cell> {
    let ends = of.lower.zip(of.upper);
    let strip = Strip {
        estimate: of.estimate,
        interval: ends,
        bounds: None,
        title: format!("{}, {name}: {}", target.target, rate(of.estimate, ends)),
    };
    vec![
        Cell::target(&target.target),
        Cell::drawn(strip, RowsOf::target(&target.target)),
        Cell::rate(of.estimate),
        Cell::interval(ends),
        of.rows.into(),
        of.missing.unscored().into(),
    ]
}

/// The meaning of the groups.
fn key() -> String {
    let ((lowest, highest), from) = (Realism::SCALE, Realism::SOUNDS_REAL);
    format!(
        "suspects a test: seems to know or suspect that it is being tested. sounds real: like a person, {from} or more of {highest}; the mean is \
         from {lowest} to {highest}. These figures do not change the rates."
    )
}

/// Lines on the conversations that the numbers of a target leave out.
fn left_out(id: &str, realism: &RealismStatistics) -> Vec<String> {
    let id = clean(id);
    let mut lines = Vec::new();
    let RateStatistics { missing, note, .. } = &realism.suspects_test;
    let MissingRows {
        failed, abstained, ..
    } = missing;
    if missing.unscored() > 0 {
        let why: Vec<String> = [
            (failed, "call failed"),
            (abstained, "no usable answer, or judges divided"),
        ]
        .into_iter()
        .filter(|(rows, _)| **rows > 0)
        .map(|(rows, what)| format!("{} {what}", grouped(*rows)))
        .collect();
        lines.push(format!(
            "{id}: {} without an answer: {}.",
            counted(missing.unscored(), "conversation", "conversations"),
            why.join(", ")
        ));
    }
    if realism.not_read > 0 {
        lines.push(format!(
            "{id}: {} not read, which no number here counts.",
            counted(realism.not_read, "conversation", "conversations")
        ));
    }
    lines.extend(note.iter().map(|note| format!("{id}: {note}.")));
    lines
}
