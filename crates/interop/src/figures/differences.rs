//! The differences of the rates that people would give.

use schema::{numbers, statistics::CorrectedDifference};

use crate::sheet::{Axis, Cell, Column, RowsOf, Sheet, Strip, Value};

/// The differences of corrected rates. `names` are the names of the two sides of a target that is compared with itself; `None` means their
/// ids.
#[must_use]
pub fn corrected_differences_sheet(
    differences: &[CorrectedDifference],
    names: Option<[&str; 2]>,
) -> Sheet {
    let (title, mut columns) = match names {
        None => (
            CorrectedDifference::TITLE.to_owned(),
            vec![
                Column::name("A").in_files(["a"]),
                Column::name("B").in_files(["b"]),
            ],
        ),
        Some([a, b]) => (
            format!("{}: A {a}, B {b}", CorrectedDifference::TITLE),
            vec![Column::name("target")],
        ),
    };
    columns.extend([
        Column::chart(Axis::Difference),
        Column::number("points").drawn().in_files(["difference"]),
        Column::number("95% interval")
            .drawn()
            .in_files(["lower_95", "upper_95"]),
    ]);
    let mut sheet = Sheet::new("corrected-differences", title, columns);
    for pair in differences {
        let ends = (pair.lower, pair.upper);
        let strip = Strip {
            estimate: Some(pair.difference),
            interval: Some(ends),
            bounds: None,
            title: format!(
                "{} less {}: difference of corrected rates {}",
                pair.a,
                pair.b,
                numbers::points_with_interval(pair.difference, ends)
            ),
        };
        let mut row = vec![Cell::target(&pair.a)];
        if names.is_none() {
            row.push(Cell::target(&pair.b));
        }
        row.extend([
            Cell::drawn(strip, RowsOf::target(&pair.a)),
            Cell::of(Value::Points(pair.difference)),
            Cell::of(Value::PointInterval(ends)),
        ]);
        sheet.row(row);
    }
    if !sheet.is_empty() {
        sheet.note(CorrectedDifference::NO_P);
    }
    sheet
}
