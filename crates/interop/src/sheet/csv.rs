//! Rows of tables as fields of CSV: numbers as they are, unknown ones empty. Only columns with names in files are shown.

use std::borrow::Cow;

use super::{Cell, Line, Sheet, Value};

/// The names of the columns in files.
#[must_use]
pub fn header(sheet: &Sheet) -> Vec<&'static str> {
    let columns = sheet.columns.iter();
    columns
        .flat_map(|column| column.in_files.iter().copied())
        .collect()
}

/// The fields of each row. Headings of groups are left out.
pub fn rows(sheet: &Sheet) -> impl Iterator<Item = Vec<Cow<'_, str>>> {
    sheet.lines.iter().filter_map(|line| match line {
        Line::Row(cells) => {
            let cells = sheet.columns.iter().zip(cells);
            Some(
                cells
                    .flat_map(|(column, cell)| fields(cell, column.in_files.len()))
                    .collect(),
            )
        }
        Line::Group(_) => None,
    })
}

/// The values of a cell in `wanted` fields.
fn fields(cell: &Cell, wanted: usize) -> Vec<Cow<'_, str>> {
    let mut fields: Vec<Cow<'_, str>> = match &cell.value {
        Value::Blank | Value::Missing => Vec::new(),
        Value::Text(text) => vec![guarded(text)],
        Value::Count(n) | Value::Since(n) => vec![n.to_string().into()],
        Value::Rate(value, None)
        | Value::Points(value)
        | Value::P(value)
        | Value::Dollars(value)
        | Value::DollarsAtLeast(value)
        | Value::Seconds(value)
        | Value::Worth(value) => vec![value.to_string().into()],
        Value::Interval((lower, upper)) | Value::PointInterval((lower, upper)) => {
            vec![lower.to_string().into(), upper.to_string().into()]
        }
        Value::Rate(value, Some((lower, upper))) => [value, lower, upper]
            .map(|number| number.to_string().into())
            .into(),
    };
    fields.resize(wanted, Cow::Borrowed(""));
    fields
}

/// A text as a field that no spreadsheet evaluates.
pub(crate) fn guarded(text: &str) -> Cow<'_, str> {
    // Some spreadsheets also read the full-width forms as formulas, and remove leading white space first.
    let formula = |c: char| {
        matches!(
            c,
            '=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠'
        )
    };
    let text = match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    };
    let starts = text.starts_with(formula) || text.trim_start().starts_with(formula);
    if starts {
        Cow::Owned(format!("'{text}"))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Column, *};

    #[test]
    fn fields_have_the_numbers_as_they_are() {
        let columns = vec![
            Column::name("model").in_files(["model"]),
            Column::number("points"),
            Column::number("rate").in_files(["rate"]),
            Column::number("95% interval").in_files(["lower", "upper"]),
        ];
        let mut sheet = Sheet::new("rates", "", columns);
        sheet.group("left out");
        let interval = |ends| vec!["=a".into(), Cell::from(3), Cell::rate(Some(0.333_3)), ends];
        sheet.row(interval(Cell::interval(Some((0.25, 0.5)))));
        sheet.row(interval(Cell::missing()));
        assert_eq!(header(&sheet), ["model", "rate", "lower", "upper"]);
        let rows: Vec<_> = rows(&sheet).collect();
        assert_eq!(
            rows,
            [["'=a", "0.3333", "0.25", "0.5"], ["'=a", "0.3333", "", ""]]
        );
    }

    #[test]
    fn no_text_is_a_formula() {
        for (given, cell) in [
            ("=1+1", "'=1+1"),
            ("+x", "'+x"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("  =1", "'  =1"),
            ("＝1", "'＝1"),
            ("a=1", "a=1"),
            ("a\0b", "a\u{fffd}b"),
            ("", ""),
        ] {
            assert_eq!(guarded(given), cell, "{given:?}");
        }
    }
}
