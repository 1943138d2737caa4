//! How realistic judges find the conversations.

use interop::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip};
use schema::statistics::{RateStatistics, RealismStatistics, TargetStatistics};

use super::{Block, Section, SectionPart};
use crate::{
    numbers::{rate as in_words, rounded},
    realism::{key, left_out},
};

/// A function that selects one of the rates.
type RateOf = fn(&RealismStatistics) -> &RateStatistics;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let targets = place.part.statistics.targets.iter();
    let read: Vec<(&TargetStatistics, &RealismStatistics)> = targets
        .filter_map(|target| Some((target, target.realism.as_ref()?)))
        .collect();
    if read.is_empty() {
        return None;
    }
    let columns = vec![
        Column::name("model"),
        Column::chart(Axis::Rate),
        Column::number("share").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("rows"),
        Column::number("no answer"),
    ];
    let title = "Realism of the conversations, as judges see it";
    let mut sheet = Sheet::new("realism", title, columns);
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
    sheet.notes.push(key());
    for (target, realism) in &read {
        let mean = realism.user_realism;
        if let (Some(value), Some((lower, upper))) = (mean.estimate, mean.lower.zip(mean.upper)) {
            sheet.notes.push(format!(
                "{}: the user's mean is {} ({} to {}).",
                crate::text::clean(target.target.as_str()),
                rounded(value, 1),
                rounded(lower, 1),
                rounded(upper, 1)
            ));
        }
        sheet
            .notes
            .extend(left_out(target.target.as_str(), realism));
    }
    place.section("realism", "Realism", vec![Block::Table(sheet)])
}

fn row(target: &TargetStatistics, name: &str, rate: &RateStatistics) -> Vec<Cell> {
    let ends = rate.lower.zip(rate.upper);
    let strip = Strip {
        estimate: rate.estimate,
        interval: ends,
        bounds: None,
        title: format!(
            "{}, {name}: {}",
            target.target,
            in_words(rate.estimate, ends)
        ),
    };
    vec![
        Cell::target(&target.target),
        Cell::drawn(strip, RowsOf::target(&target.target)),
        Cell::rate(rate.estimate),
        Cell::interval(ends),
        rate.rows.into(),
        rate.missing.unscored().into(),
    ]
}
