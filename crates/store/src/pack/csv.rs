//! Packs in CSV, with one case a row after a header row.

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};

use super::{
    PackError,
    row::{Row, RowField, RowValue},
};

/// The rows of a CSV text.
pub(super) fn rows(name: &str, text: &str) -> Result<Vec<Row>, PackError> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::Headers)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| bad(name, &error))?.clone();
    check_header(name, &header)?;
    let mut rows = Vec::new();
    let mut last = (1, 0);
    for record in reader.records() {
        let record = record.map_err(|error| bad(name, &error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let start = record.position().map_or(0, csv::Position::byte);
        last = (line, usize::try_from(start).unwrap_or(usize::MAX));
        let field = |(key, value): (&str, &str)| RowField {
            key: key.to_owned(),
            line,
            value: RowValue::Text(value.to_owned()),
        };
        let fields = header.iter().zip(record.iter()).map(field).collect();
        rows.push(Row { line, fields });
    }
    // The reader treats the end of the file as the missing quote, and the rows in between as text.
    let (line, start) = last;
    if text.get(start..).is_some_and(ends_in_quotes) {
        let reason = "a double quote is opened in this row and never closed";
        return Err(PackError::new(name, reason).at_line(line));
    }
    Ok(rows)
}

/// Whether `record` ends inside double quotes.
fn ends_in_quotes(record: &str) -> bool {
    let mut quoted = false;
    let mut field_start = true;
    let mut chars = record.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
            }
            '"' if quoted => quoted = false,
            '"' if field_start => quoted = true,
            _ => {}
        }
        field_start = !quoted && matches!(char, ',' | '\n' | '\r');
    }
    quoted
}

fn check_header(name: &str, header: &StringRecord) -> Result<(), PackError> {
    for (index, column) in header.iter().enumerate() {
        if header.iter().take(index).any(|earlier| earlier == column) && !column.is_empty() {
            let reason = format!("duplicate column `{column}` in the header");
            return Err(PackError::new(name, reason).at_line(1));
        }
    }
    Ok(())
}

fn bad(name: &str, error: &csv::Error) -> PackError {
    let line = error.position().map_or(0, csv::Position::line);
    let reason = match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!(
            "the row has {len} fields where the header has {expected_len}. Put a text with commas or line breaks in double quotes"
        ),
        ErrorKind::Utf8 { .. } => "the text is not UTF-8".to_owned(),
        _ => format!("invalid CSV: {error}"),
    };
    PackError::new(name, reason).at_line(line)
}
