//! A list like `labels.json`, made elsewhere: each line is one person's label of one row.

use std::collections::HashMap;

use schema::{HumanLabel, text::is_blank};

use super::{LabelFileError, LabelWords, check_column, table::Record, table::Table};

/// Columns that a list has.
const NEEDED: [&str; 4] = ["conv_id", "metric_id", "passed", "labeller"];
/// Columns that it may have.
const OPTIONAL: [&str; 2] = ["note", "_transcript"];

/// A label with the line that it begins in, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelLine {
    /// The line.
    pub line: u64,
    /// The label.
    pub label: HumanLabel,
}

/// The labels of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelLines {
    /// The labels, in the order of the file.
    pub labels: Vec<LabelLine>,
    /// Columns that are not read.
    pub unused: Vec<String>,
}

/// Reads a list with the columns `conv_id`, `metric_id`, `passed` and `labeller`, and `note` and `_transcript` where it has them. `name` is
/// that of the file: its ending says which form the text has.
///
/// ```
/// use interop::labels::{LabelWords, read_label_lines};
///
/// let text = "conv_id,metric_id,passed,labeller\ns1__careful,m01,yes,ana\ns2__careful,m01,unclear,ana\n";
/// let lines = read_label_lines("mine.csv", text, &LabelWords::default()).map_err(|mut errors| errors.remove(0))?;
/// assert_eq!((lines.labels[0].label.passed, lines.labels[1].label.passed), (Some(true), None));
/// # Ok::<(), interop::labels::LabelFileError>(())
/// ```
///
/// # Errors
/// All mistakes of the file: columns that are not there, blank cells, words that are no labels, two labels of one person on one row.
pub fn read_label_lines(
    name: &str,
    text: &str,
    words: &LabelWords,
) -> Result<LabelLines, Vec<LabelFileError>> {
    let table = Table::read(name, text).map_err(|error| vec![error])?;
    if table.records.is_empty() {
        return Err(vec![LabelFileError::new(name, "the file has no rows")]);
    }
    let missing = NEEDED.map(|column| check_column(name, &table, column).err());
    let missing: Vec<LabelFileError> = missing.into_iter().flatten().collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let mut labels: Vec<LabelLine> = Vec::new();
    let mut first = HashMap::new();
    let mut errors = Vec::new();
    for record in &table.records {
        let label = match label(name, record, words) {
            Ok(label) => label,
            Err(of_row) => {
                errors.extend(of_row);
                continue;
            }
        };
        let of = (
            label.conv_id.clone(),
            label.metric_id.clone(),
            label.labeller.clone(),
        );
        match first.get(&of) {
            Some(line) => errors.push(twice(name, record.line, &label, *line)),
            None => {
                first.insert(of, record.line);
                labels.push(LabelLine {
                    line: record.line,
                    label,
                });
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let is_known = |column: &&String| NEEDED.iter().chain(&OPTIONAL).any(|known| known == column);
    Ok(LabelLines {
        labels,
        unused: table
            .columns
            .iter()
            .filter(|column| !is_known(column))
            .cloned()
            .collect(),
    })
}

fn twice(name: &str, line: u64, label: &HumanLabel, first: u64) -> LabelFileError {
    let reason = format!(
        "{:?} labelled {:?} for {:?} in line {first} already",
        label.labeller, label.conv_id, label.metric_id
    );
    LabelFileError::new(name, reason).at_line(line)
}

/// The label of a row, or all that is wrong with it.
fn label(
    name: &str,
    record: &Record,
    words: &LabelWords,
) -> Result<HumanLabel, Vec<LabelFileError>> {
    let fault = |reason: String| LabelFileError::new(name, reason).at_line(record.line);
    let mut errors = Vec::new();
    let cells = NEEDED.map(|column| match record.text(column) {
        Some(text) if !is_blank(text) => text.trim(),
        _ => {
            errors.push(fault(format!("`{column}` is blank")));
            ""
        }
    });
    let [conv_id, metric_id, passed, labeller] = cells;
    let passed = match passed {
        "" => None,
        word => words.read(word).unwrap_or_else(|help| {
            errors.push(fault(format!("unknown label {word:?} in `passed`")).with_help(help));
            None
        }),
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(HumanLabel {
        note: record.optional("note").map(str::to_owned),
        transcript: record.optional("_transcript").map(str::to_owned),
        ..HumanLabel::new(conv_id, metric_id, labeller, passed)
    })
}
