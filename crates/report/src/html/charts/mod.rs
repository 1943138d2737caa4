//! Charts as SVG: strips in the cells of a table, and figures that stand alone.

mod figure;
mod measure;
mod strip;
mod svg;

pub(crate) use figure::figure;
pub(crate) use strip::{axis, strip};

use crate::sheet::Axis;

impl Axis {
    /// Where a value is, in percent of the width.
    fn place(self, value: f64) -> f64 {
        let share = match self {
            Self::Rate => value,
            Self::Difference => f64::midpoint(value, 1.0),
        };
        // What is no number has no place; it is not drawn.
        share.clamp(0.0, 1.0) * 100.0
    }

    /// The values with a mark, and their texts.
    fn ticks(self) -> [(f64, &'static str); 5] {
        match self {
            Self::Rate => [
                (0.0, "0"),
                (0.25, "25"),
                (0.5, "50"),
                (0.75, "75"),
                (1.0, "100%"),
            ],
            Self::Difference => [
                (-1.0, "-1"),
                (-0.5, "-0.5"),
                (0.0, "0"),
                (0.5, "+0.5"),
                (1.0, "+1"),
            ],
        }
    }
}

/// The outline of a dot around its middle: a shape of its own for each model, so that colour is not all that tells them apart.
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

/// How many colours there are.
const COLOURS: usize = 8;

fn series_class(series: usize) -> String {
    format!("series-{}", series % COLOURS)
}
