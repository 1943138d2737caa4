//! The rows of a CSV, JSONL or JSON text, with the line of each.

use std::fmt;

use csv::{ReaderBuilder, Trim};
use located::json::{JsonRows, JsonRowsError};
use schema::text::{counted, is_blank};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{LabelFileError, LinePlace, quotes};

/// A table of texts.
#[derive(Default)]
pub(super) struct Table {
    /// The names of its columns, in order of first appearance.
    pub(super) columns: Vec<String>,
    pub(super) records: Vec<Record>,
    /// Errors of rows that cannot be read.
    pub(super) broken: Vec<LabelFileError>,
}

/// One row.
pub(super) struct Record {
    /// Where the row begins.
    pub(super) place: LinePlace,
    cells: Vec<(String, Option<String>)>,
}

impl Record {
    /// The text of a column; `None` if the row does not have it. Null is the word `null`: as a label it means unclear, as in
    /// `labels.json`.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name == column);
        cell.map(|(_, text)| text.as_deref().unwrap_or("null"))
    }

    /// The text of a column; `None` if it is null or blank.
    pub(super) fn optional(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name == column)?;
        cell.1.as_deref().filter(|text| !is_blank(text))
    }
}

impl Table {
    /// Like [`Self::read`], for a text that must have rows.
    pub(super) fn read_rows(name: &str, text: &str) -> Result<Self, LabelFileError> {
        let table = Self::read(name, text)?;
        match table.records.is_empty() && table.broken.is_empty() {
            true => Err(LabelFileError::new(name, "the file has no rows")),
            false => Ok(table),
        }
    }

    /// Reads the table of a text. The extension of `name` determines the format.
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

/// A header row, then one record per row. Lines before the header that begin with `#` are comments.
fn csv(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut body = text;
    let mut skipped = 0;
    while body.starts_with('#') {
        body = body.split_once('\n').map_or("", |(_, rest)| rest);
        skipped += 1;
    }
    let at = |position: Option<&csv::Position>| LinePlace {
        line: position.map_or(0, csv::Position::line) + skipped,
        row: None,
    };
    let bad = |error: csv::Error| {
        LabelFileError::new(name, format!("invalid CSV: {error}")).at(at(error.position()))
    };
    let mut reader = ReaderBuilder::new()
        .trim(Trim::Headers)
        .flexible(true)
        .from_reader(body.as_bytes());
    let columns: Vec<String> = reader
        .headers()
        .map_err(bad)?
        .iter()
        .map(str::to_owned)
        .collect();
    check_separator(name, body, &columns)?;
    let fault = header_fault(name, &columns).or_else(|| quote_fault(name, body));
    if let Some((line, fault)) = fault {
        let line = line + skipped;
        return Err(fault.at(LinePlace { line, row: None }));
    }
    let mut table = Table {
        columns,
        ..Table::default()
    };
    for record in reader.records() {
        let record = record.map_err(bad)?;
        let place = at(record.position());
        let (fields, expected) = (record.len(), table.columns.len());
        if fields != expected {
            let reason = format!(
                "the row has {} where the header has {expected}. Put a text with commas or line breaks in double quotes",
                counted(fields as u64, "field", "fields")
            );
            table
                .broken
                .push(LabelFileError::new(name, reason).at(place));
            continue;
        }
        let cells = table
            .columns
            .iter()
            .cloned()
            .zip(record.iter().map(|cell| Some(cell.to_owned())));
        table.records.push(Record {
            place,
            cells: cells.collect(),
        });
    }
    Ok(table)
}

/// A column that is in the header twice, with the line of the header.
fn header_fault(name: &str, columns: &[String]) -> Option<(u64, LabelFileError)> {
    let (_, column) = columns.iter().enumerate().find(|(at, column)| {
        !column.is_empty() && columns.iter().take(*at).any(|of| of == *column)
    })?;
    let fault = LabelFileError::new(name, format!("duplicate column `{column}`"));
    let help = "keep one column of each name, and rename or remove the others";
    Some((1, fault.with_help(help)))
}

/// A double quote that opens a field and is not closed, with its line.
fn quote_fault(name: &str, body: &str) -> Option<(u64, LabelFileError)> {
    let fault = quotes::fault(body)?;
    let help = "close the field with a double quote before its comma, and write a double quote inside of it as two";
    let error = LabelFileError::new(name, fault.reason()).with_help(help);
    Some((fault.opened, error))
}

/// Refuses a table whose columns are separated by something other than commas, as written by spreadsheets in some languages.
fn check_separator(name: &str, body: &str, columns: &[String]) -> Result<(), LabelFileError> {
    let [column] = columns else {
        return Ok(());
    };
    let header = body.lines().next().unwrap_or_default().trim();
    if header == format!("\"{column}\"") {
        return Ok(());
    }
    let shown = match [';', '\t'].into_iter().find(|c| column.contains(*c)) {
        Some(';') => "`;`",
        Some(_) => "tabs",
        None => return Ok(()),
    };
    Err(
        LabelFileError::new(name, format!("the columns are separated by {shown}"))
            .with_help("save the file with commas between the columns"),
    )
}

/// A JSON object without duplicate keys: it is unclear which of two counts.
struct UniqueKeys(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = UniqueKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueKeys, A::Error> {
                let mut object = Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if object.contains_key(&key) {
                        return Err(A::Error::custom(format!("duplicate key `{key}`")));
                    }
                    object.insert(key, map.next_value()?);
                }
                Ok(UniqueKeys(object))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

fn json_lines(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut table = Table::default();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        let place = LinePlace { line, row: None };
        match serde_json::from_str::<UniqueKeys>(content) {
            Ok(UniqueKeys(object)) => table.records.push(record(place, object)),
            Err(error) => {
                let reason = format!("not a JSON object: {error}");
                table
                    .broken
                    .push(LabelFileError::new(name, reason).at(place));
            }
        }
    }
    Ok(table)
}

fn json_list(name: &str, text: &str) -> Result<Table, LabelFileError> {
    let mut table = Table::default();
    let mut rows = JsonRows::new(text.as_bytes());
    let unreadable = |error: JsonRowsError| LabelFileError::new(name, error.to_string());
    while let Some(row) = rows.next_row().map_err(unreadable)? {
        let place = LinePlace {
            line: row.location.line,
            row: Some(row.number),
        };
        match row.parse::<UniqueKeys>() {
            Ok(UniqueKeys(object)) => table.records.push(record(place, object)),
            Err(error) => {
                let reason = format!("not a JSON object: {}", error.fault);
                table
                    .broken
                    .push(LabelFileError::new(name, reason).at(place));
            }
        }
    }
    Ok(table)
}

fn record(place: LinePlace, object: Map<String, Value>) -> Record {
    let cell = |(name, value): (String, Value)| match value {
        Value::Null => (name, None),
        Value::String(text) => (name, Some(text)),
        other => (name, Some(other.to_string())),
    };
    Record {
        place,
        cells: object.into_iter().map(cell).collect(),
    }
}
