//! The rows of a data file.

use std::path::Path;

use schema::Extra;
use serde_json::Value;
use store::RunError;

/// The rows of the file, each with its place: `line 3` or `row 2`.
///
/// # Errors
/// When the file is of another kind, or a row is not an object.
pub(super) fn rows(path: &Path, text: &str) -> Result<Vec<(String, Extra)>, RunError> {
    let ending = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let refused = |place: &str, why: String| {
        let place = if place.is_empty() {
            String::new()
        } else {
            format!(", {place}")
        };
        Err(RunError::input(format!("{}{place}: {why}", path.display())))
    };
    match ending.as_str() {
        "csv" | "tsv" => separated(text, if ending == "csv" { b',' } else { b'\t' })
            .or_else(|(place, why)| refused(&place, why)),
        "jsonl" | "ndjson" => lines(text).or_else(|(place, why)| refused(&place, why)),
        "json" => list(text).or_else(|(place, why)| refused(&place, why)),
        _ => refused(
            "",
            "not a data file; expected .jsonl, .json (a list of objects), .csv, .tsv, .parquet, or tests of promptfoo (.yaml)".to_owned(),
        ),
    }
}

type Rows = Result<Vec<(String, Extra)>, (String, String)>;

fn lines(text: &str) -> Rows {
    let lines = text.lines().zip(1_u64..);
    let filled = lines.filter(|(line, _)| !line.trim().is_empty());
    filled
        .map(|(line, number)| {
            let place = format!("line {number}");
            match serde_json::from_str(line) {
                Ok(row) => Ok((place, row)),
                Err(error) => Err((place, format!("not a JSON object: {error}"))),
            }
        })
        .collect()
}

fn list(text: &str) -> Rows {
    // A list of texts is a table with one column.
    if let Ok(texts) = serde_json::from_str::<Vec<String>>(text) {
        let rows = (1..).zip(texts).map(|(number, text): (u64, String)| {
            let row = Extra::from_iter([("text".to_owned(), Value::from(text))]);
            (format!("row {number}"), row)
        });
        return Ok(rows.collect());
    }
    let rows: Vec<Extra> = serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}", error.line());
        (place, format!("not a list of JSON objects: {error}"))
    })?;
    let rows = (1..).zip(rows);
    Ok(rows
        .map(|(number, row): (u64, Extra)| (format!("row {number}"), row))
        .collect())
}

/// A table with a line of names. Empty cells are absent.
fn separated(text: &str, delimiter: u8) -> Rows {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let failed = |error: csv::Error| {
        let line = error
            .position()
            .map(|position| format!("line {}", position.line()));
        (line.unwrap_or_default(), error.to_string())
    };
    let names = reader.headers().map_err(failed)?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let filled = names
            .iter()
            .zip(record.iter())
            .filter(|(_, cell)| !cell.is_empty());
        let row = filled.map(|(name, cell)| (name.trim().to_owned(), Value::from(cell)));
        rows.push((format!("line {line}"), row.collect()));
    }
    Ok(rows)
}
