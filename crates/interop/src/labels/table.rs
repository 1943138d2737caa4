//! The rows of a CSV, JSONL or JSON text, with the line of each.

use csv::{ErrorKind, ReaderBuilder, Trim};
use schema::{json_rows::JsonRows, text::is_blank};
use serde_json::{Map, Value};

use super::LabelFileError;

/// A table of texts.
pub(super) struct Table {
    /// The names of its columns, in the order in which they come up.
    pub(super) columns: Vec<String>,
    pub(super) records: Vec<Record>,
}

/// One row.
pub(super) struct Record {
    /// The line that it begins in, from 1.
    pub(super) line: u64,
    cells: Vec<(String, Option<String>)>,
}

impl Record {
    /// The text of a column; `None` where the row does not have it. Null is the word `null`: in place of a label it says that it is
    /// unclear, as in `labels.json`.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name == column);
        cell.map(|(_, text)| text.as_deref().unwrap_or("null"))
    }

    /// The text of a column that says nothing where it is null or blank.
    pub(super) fn optional(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name == column)?;
        cell.1.as_deref().filter(|text| !is_blank(text))
    }
}

impl Table {
    /// The table of a text, whose form is that of the name's ending.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, LabelFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_lowercase());
        let mut table = match ending.as_deref() {
            Some("csv") => csv(name, text)?,
            Some("jsonl" | "ndjson") => json_lines(name, text)?,
            Some("json") => json_list(name, text)?,
            _ => {
                return Err(
                    LabelFileError::new(name, "not a file of labels by its name")
                        .with_help("give a file that ends in .csv, .jsonl or .json"),
                );
            }
        };
        for record in &table.records {
            for (column, _) in &record.cells {
                if !table.columns.contains(column) {
                    table.columns.push(column.clone());
                }
            }
        }
        Ok(table)
    }
}

/// A header row, then one record a row. Lines before the header that begin with `#` are comments.
fn csv(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut body = text;
    let mut skipped = 0;
    while body.starts_with('#') {
        body = body.split_once('\n').map_or("", |(_, rest)| rest);
        skipped += 1;
    }
    let bad = |error: csv::Error| {
        let reason = match error.kind() {
            ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!(
                "the row has {len} fields where the header has {expected_len}. Put a text with commas or line breaks in double quotes"
            ),
            _ => format!("invalid CSV: {error}"),
        };
        let line = error.position().map_or(0, csv::Position::line);
        LabelFileError::new(name, reason).at_line(line + skipped)
    };
    let mut reader = ReaderBuilder::new()
        .trim(Trim::Headers)
        .from_reader(body.as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .map_err(bad)?
        .iter()
        .map(str::to_owned)
        .collect();
    let mut records = Vec::new();
    for record in reader.records() {
        let record = record.map_err(bad)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = columns
            .iter()
            .cloned()
            .zip(record.iter().map(|cell| Some(cell.to_owned())));
        records.push(Record {
            line: line + skipped,
            cells: cells.collect(),
        });
    }
    Ok(Table { columns, records })
}

fn json_lines(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut records = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        let object: Map<String, Value> = serde_json::from_str(content).map_err(|error| {
            LabelFileError::new(name, format!("not a JSON object: {error}")).at_line(line)
        })?;
        records.push(record(line, object));
    }
    Ok(Table {
        columns: Vec::new(),
        records,
    })
}

fn json_list(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut records = Vec::new();
    let mut rows = JsonRows::new(text.as_bytes());
    let mut read = || {
        while let Some(row) = rows.next_row()? {
            records.push(record(
                row.location.line,
                row.parse::<Map<String, Value>>()?,
            ));
        }
        Ok(())
    };
    read().map_err(|error: schema::json_rows::JsonRowsError| {
        LabelFileError::new(name, error.to_string())
    })?;
    Ok(Table {
        columns: Vec::new(),
        records,
    })
}

fn record(line: u64, object: Map<String, Value>) -> Record {
    let cell = |(name, value): (String, Value)| match value {
        Value::Null => (name, None),
        Value::String(text) => (name, Some(text)),
        other => (name, Some(other.to_string())),
    };
    Record {
        line,
        cells: object.into_iter().map(cell).collect(),
    }
}
