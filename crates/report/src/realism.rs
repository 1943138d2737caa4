//! How realistic judges find the conversations.

use interop::sheet::{Cell, Column, Sheet};
use schema::{
    Realism,
    statistics::{MissingRows, RateStatistics, RealismStatistics, Statistics},
    text::counted,
};

use crate::{numbers::rounded, text::clean};

/// A table of how realistic the conversations of each target are. The notes explain the columns and count the conversations that the
/// table leaves out. Without rows if no judge was called.
#[must_use]
pub fn realism_sheet(name: &str, statistics: &Statistics) -> Sheet {
    let columns = vec![
        Column::name("model"),
        Column::number("suspects"),
        Column::number("95% interval"),
        Column::number("user real"),
        Column::number("95% interval"),
        Column::number("mean"),
        Column::number("rows"),
        Column::number("none"),
    ];
    let title = format!("realism of {name}, as judges see it");
    let mut sheet = Sheet::new("realism", title, columns);
    for target in &statistics.targets {
        let Some(realism) = &target.realism else {
            continue;
        };
        let (suspects, real) = (&realism.suspects_test, &realism.user_sounds_real);
        let mean = realism.user_realism.estimate;
        sheet.row(vec![
            Cell::target(&target.target),
            Cell::rate(suspects.estimate),
            Cell::interval(suspects.lower.zip(suspects.upper)),
            Cell::rate(real.estimate),
            Cell::interval(real.lower.zip(real.upper)),
            mean.map(|mean| rounded(mean, 1)).into(),
            suspects.rows.into(),
            suspects.missing.unscored().into(),
        ]);
        if sheet.notes.is_empty() {
            sheet.note(key());
        }
        sheet
            .notes
            .extend(left_out(target.target.as_str(), realism));
    }
    sheet
}

/// The meaning of the columns.
pub(crate) fn key() -> String {
    let ((lowest, highest), from) = (Realism::SCALE, Realism::SOUNDS_REAL);
    format!(
        "suspects: the target seems to know or suspect that it is being tested. user real: the user sounds like a person, {from} or more of \
         {highest}; mean: from {lowest} to {highest}. These figures do not change the rates."
    )
}

/// Lines on the conversations that the numbers of a target leave out.
pub(crate) fn left_out(id: &str, realism: &RealismStatistics) -> Vec<String> {
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
        .map(|(rows, what)| format!("{rows} {what}"))
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
