//! How realistic judges find the conversations.

use schema::{
    Realism,
    statistics::{MissingRows, RateStatistics, RealismStatistics, Statistics},
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, compact_interval, grouped, percent, rounded},
    table::Table,
    text::{clean, wrapped},
};

/// A table of how realistic the conversations of each target are. The lines below explain the columns and count the conversations that
/// the table leaves out. Empty if no judge was called.
#[must_use]
pub fn realism_table(name: &str, statistics: &Statistics, width: usize) -> String {
    let header = [
        "model",
        "suspects",
        "95% interval",
        "user real",
        "95% interval",
        "mean",
        "rows",
        "none",
    ];
    let read = statistics.targets.iter().filter_map(|target| {
        let realism = target.realism.as_ref()?;
        Some((target.target.as_str(), realism))
    });
    let read: Vec<(&str, &RealismStatistics)> = read.collect();
    if read.is_empty() {
        return String::new();
    }
    let mut table = Table::new(1, &header);
    let mut lines = vec![key()];
    for (id, realism) in read {
        let (suspects, real) = (&realism.suspects_test, &realism.user_sounds_real);
        let mean = realism.user_realism.estimate;
        table.row(vec![
            id.to_owned(),
            percent(suspects.estimate),
            compact_interval(suspects.lower.zip(suspects.upper)),
            percent(real.estimate),
            compact_interval(real.lower.zip(real.upper)),
            mean.map_or_else(|| UNKNOWN.to_owned(), |mean| rounded(mean, 1)),
            grouped(suspects.rows),
            grouped(suspects.missing.unscored()),
        ]);
        lines.extend(left_out(id, realism));
    }
    let mut text = format!(
        "realism of {}, as judges see it\n{}",
        clean(name),
        table.render(width)
    );
    for line in lines {
        text.push_str(&wrapped(&line, "  ", width));
    }
    text
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
        let why = [
            (failed, "call failed"),
            (abstained, "no usable answer, or judges divided"),
        ];
        let why = why.into_iter().filter(|(rows, _)| **rows > 0);
        let why: Vec<String> = why.map(|(rows, what)| format!("{rows} {what}")).collect();
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
