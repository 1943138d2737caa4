//! The rates of a safety evaluation over its cases.

use schema::{
    ModelId,
    numbers::{grouped, interval, rate},
    safety::results::{SafetyRate, SafetyRates},
    statistics::RateBounds,
};

use crate::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip, Value, together};

/// The rates with their intervals. A rate without rows has no line.
#[must_use]
pub fn safety_rates_sheet(title: &str, target: Option<&ModelId>, rates: &SafetyRates) -> Sheet {
    let columns = vec![
        Column::name("rate"),
        Column::chart(Axis::Rate),
        Column::number("share").drawn(),
        Column::number("95% interval").drawn(),
        Column::number("rows"),
        Column::number("cases"),
        Column::number("no verdict"),
        Column::number("standard error, points")
            .short("error, points")
            .wide(),
    ];
    let mut sheet = Sheet::new("safety-rates", title, columns);
    let all = [
        ("seed cases failed", &rates.seed),
        ("cases broken", &rates.broken),
        ("controls refused", &rates.controls_refused),
    ];
    for (name, one) in all {
        if one.rows + one.missing.unscored() > 0 {
            sheet.row(row(name, target, one));
        }
    }
    let noted = all
        .iter()
        .filter_map(|(name, one)| Some((noted_bounds(one)?, (*name).to_owned())));
    for (note, names) in together(noted) {
        sheet.note(format!("{}: {note}.", names.join(", ")));
    }
    sheet.so_far(all.iter().any(|(_, one)| one.at_every_look().is_some()))
}

/// The note on a rate, with the bounds that it refers to.
fn noted_bounds(rate: &SafetyRate) -> Option<String> {
    let note = rate.note.as_deref()?;
    let bounds = missing_bounds(rate).map_or_else(String::new, |bounds| {
        format!(" (bounds {})", interval((bounds.lower, bounds.upper)))
    });
    Some(format!("{note}{bounds}"))
}

/// The bounds of a rate, where they are wider than its interval because rows are missing.
fn missing_bounds(rate: &SafetyRate) -> Option<RateBounds> {
    let missing = rate.missing.unscored() + rate.missing.incomplete;
    rate.bounds.filter(|_| missing > 0)
}

fn row(name: &str, target: Option<&ModelId>, of: &SafetyRate) -> Vec<Cell> {
    let ends = of.lower.zip(of.upper);
    let missing = of.missing.unscored();
    let bounds = missing_bounds(of);
    let in_words = of
        .estimate
        .map_or_else(|| "no verdict".to_owned(), |share| rate(share, ends));
    let prefix = target.map_or_else(String::new, |target| format!("{target}, "));
    let rows = RowsOf {
        target: target.cloned(),
        metric: None,
    };
    let strip = Strip {
        estimate: of.estimate,
        interval: ends,
        bounds: bounds.map(|ends| (ends.lower, ends.upper)),
        title: format!("{prefix}{name}: {in_words}"),
    };
    vec![
        Cell::about(name, rows.clone()),
        Cell::drawn(strip, rows),
        Cell::rate(of.estimate),
        Cell::interval(ends),
        format!("{} of {}", grouped(of.count), grouped(of.rows)).into(),
        match of.sequential {
            Some(so_far) => {
                format!("{} of {}", grouped(so_far.scenarios), grouped(so_far.of)).into()
            }
            None => of.cases.into(),
        },
        missing.into(),
        Cell::known(of.standard_error, Value::Points),
    ]
}
