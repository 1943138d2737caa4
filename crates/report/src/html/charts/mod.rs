//! Charts as SVG: strips in the cells of a table, and stand-alone figures.

mod figure;
mod measure;
mod strip;
mod svg;

pub(crate) use figure::figure;
pub(crate) use strip::{axis, strip};

use interop::sheet::Axis;

/// The position of a value, in percent of the width.
fn place(axis: Axis, value: f64) -> f64 {
    let share = match axis {
        Axis::Rate => value,
        Axis::Difference => f64::midpoint(value, 1.0),
    };
    // NaN has no position and is not drawn.
    share.clamp(0.0, 1.0) * 100.0
}

/// The values of the tick marks, with their texts.
fn ticks(axis: Axis) -> [(f64, &'static str); 5] {
    match axis {
        Axis::Rate => [
            (0.0, "0"),
            (0.25, "25"),
            (0.5, "50"),
            (0.75, "75"),
            (1.0, "100%"),
        ],
        Axis::Difference => [
            (-1.0, "−100"),
            (-0.5, "−50"),
            (0.0, "0"),
            (0.5, "50"),
            (1.0, "100"),
        ],
    }
}

/// The outline of a dot around its centre. Four shapes alternate, so that models differ not only in colour.
fn dot(series: usize) -> &'static str {
    const SHAPES: [&str; 4] = [
        "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z",
        "M-4-4h8v8h-8Z",
        "M0-5.5L5.5 0L0 5.5L-5.5 0Z",
        "M0-5L5.2 4H-5.2Z",
    ];
    SHAPES
        .get(series % SHAPES.len())
        .copied()
        .unwrap_or(SHAPES[0])
}

/// The number of colours.
const COLOURS: usize = 8;

fn series_class(series: usize) -> String {
    format!("series-{}", series % COLOURS)
}
