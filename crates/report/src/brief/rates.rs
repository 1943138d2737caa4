//! The rates of all models, best first.

use interop::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip};
use schema::statistics::{RateStatistics, Statistics, TargetStatistics};

use super::Brief;
use crate::{
    overview::{corrected, folded_text, ranked},
    terminal::bare_lines,
};

/// The most rows where rows are folded.
const MOST: usize = 12;

fn has_rows(rate: &RateStatistics) -> bool {
    rate.rows + rate.missing.unscored() > 0
}

/// Whether metrics of both types have rows.
pub(super) fn has_both(statistics: &Statistics) -> bool {
    let targets = || statistics.targets.iter();
    targets().any(|target| has_rows(&target.rates.positive))
        && targets().any(|target| has_rows(&target.rates.negative))
}

/// The heading and at most `room` rows: the first ones, how many are left out, and the last.
pub(super) fn lines(brief: &Brief<'_>, room: Option<usize>, columns: usize) -> Vec<String> {
    let ranked = ranked(brief.statistics);
    let all = ranked.len();
    let room = room.map_or(all, |room| room.min(MOST));
    let (Some(open), Some((last, _)), true) =
        (room.checked_sub(2), ranked.split_last(), all > room)
    else {
        return bare_lines(&sheet(brief.statistics, &ranked), columns);
    };
    let shown: Vec<&TargetStatistics> = ranked.iter().take(open).chain([last]).copied().collect();
    let mut lines = bare_lines(&sheet(brief.statistics, &shown), columns);
    let before_last = lines.len().saturating_sub(1);
    let (before, _) = ranked.split_at(all - 1);
    lines.insert(before_last, format!("… and {}", folded_text(before, open)));
    lines
}

fn sheet(statistics: &Statistics, shown: &[&TargetStatistics]) -> Sheet {
    let has_both = has_both(statistics);
    let has_people = statistics
        .targets
        .iter()
        .any(|target| corrected(target).is_some());
    let is_negative = statistics
        .targets
        .iter()
        .any(|target| has_rows(&target.rates.negative));
    let all = match (has_both, is_negative) {
        (true, _) => "all rows",
        (_, true) => "avoids bad",
        _ => "promotes good",
    };
    let mut columns = vec![
        Column::name(""),
        Column::chart(Axis::Rate).in_text(),
        Column::number(all),
    ];
    if has_both {
        columns.extend(["good", "no bad"].map(Column::number));
    }
    if has_people {
        columns.push(Column::number("people say"));
    }
    let mut sheet = Sheet::new("brief", "", columns);
    for target in shown {
        let rates = &target.rates;
        let ends = rates.all.lower.zip(rates.all.upper);
        let strip = Strip {
            estimate: rates.all.estimate,
            interval: ends,
            ..Strip::default()
        };
        let mut cells = vec![
            Cell::target(&target.target),
            Cell::drawn(strip, RowsOf::target(&target.target)),
            Cell::rate_with_interval(rates.all.estimate, ends),
        ];
        if has_both {
            cells.extend([&rates.positive, &rates.negative].map(|rate| Cell::rate(rate.estimate)));
        }
        if has_people {
            let people = corrected(target);
            let ends = people.and_then(|rate| rate.lower.zip(rate.upper));
            cells.push(Cell::rate_with_interval(
                people.and_then(|rate| rate.estimate),
                ends,
            ));
        }
        sheet.row(cells);
    }
    sheet
}
