//! Charts as SVG: strips in the cells of a table, and stand-alone figures.

mod figure;
mod measure;
mod progress;
mod rates;
mod strip;
mod svg;

pub(crate) use figure::figure;
pub(crate) use progress::{bar, pace};
pub(crate) use rates::{DrawnRate, key, rate_axis, rate_chart, spread_chart};
pub(crate) use strip::{axis, strip};

use std::borrow::Cow;

use interop::sheet::Axis;

/// The position of a value, in percent of the width.
fn place(axis: Axis, value: f64) -> f64 {
    let share = match axis {
        Axis::Rate => value,
        Axis::Difference => f64::midpoint(value, 1.0),
        Axis::Tens(from, to) => (value * 10.0 - f64::from(from)) / f64::from(to - from).max(1.0),
    };
    // NaN has no position and is not drawn.
    share.clamp(0.0, 1.0) * 100.0
}

/// The values of the tick marks, with their texts.
fn ticks(axis: Axis) -> Vec<(f64, Cow<'static, str>)> {
    let fixed = |marks: [(f64, &'static str); 5]| {
        let marks = marks.into_iter();
        marks
            .map(|(value, text)| (value, Cow::Borrowed(text)))
            .collect()
    };
    match axis {
        Axis::Rate => fixed([
            (0.0, "0"),
            (0.25, "25"),
            (0.5, "50"),
            (0.75, "75"),
            (1.0, "100%"),
        ]),
        Axis::Difference => fixed([
            (-1.0, "−100"),
            (-0.5, "−50"),
            (0.0, "0"),
            (0.5, "50"),
            (1.0, "100"),
        ]),
        Axis::Tens(from, to) => tens(from, to),
    }
}

/// Marks at multiples of ten points, of twenty or of fifty on a long axis, with 0 among them.
fn tens(from: i8, to: i8) -> Vec<(f64, Cow<'static, str>)> {
    let step = match to - from {
        ..=4 => 1,
        5..=8 => 2,
        _ => 5,
    };
    (from..=to)
        .filter(|tens| tens % step == 0)
        .map(|tens| {
            let text = schema::numbers::point_digits(f64::from(tens) / 10.0);
            (f64::from(tens) / 10.0, Cow::Owned(text))
        })
        .collect()
}
