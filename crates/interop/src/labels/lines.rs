//! A list like `labels.json` from another source: each line is one person's label of one row.

use std::collections::HashMap;

use schema::{HumanLabel, nearest, text::is_blank};

use super::{
    LabelFileError, LabelWords, LinePlace,
    table::{Record, Table},
};

/// Required columns.
const NEEDED: [&str; 4] = ["conv_id", "metric_id", "passed", "labeller"];
/// Other names for these columns.
const OTHER_NAMES: [&[&str]; 4] = [
    &["conversation_id", "conversation", "conv"],
    &["metric"],
    &["pass", "label", "verdict", "human"],
    &["annotator", "rater", "person", "user", "name"],
];
/// The longest note, in characters: it is what a person says of one row.
const LONGEST_NOTE: usize = 10_000;

/// Optional columns.
const OPTIONAL: [&str; 2] = ["note", "_transcript"];

/// A label and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelLine {
    /// Where the label begins.
    pub place: LinePlace,
    /// The label. Values that could not be read are blank.
    pub label: HumanLabel,
}

/// The labels of a file. They are usable if `unreadable` and `repeated` are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelLines {
    /// The labels, in the order of the file.
    pub labels: Vec<LabelLine>,
    /// Rows and cells that cannot be read: blank cells, words that are not labels.
    pub unreadable: Vec<LabelFileError>,
    /// Further labels of a person on a row.
    pub repeated: Vec<LabelFileError>,
    /// Columns that are ignored.
    pub unused: Vec<String>,
}

/// Reads a list with the columns `conv_id`, `metric_id`, `passed` and `labeller`, and optionally `note` and `_transcript`. `name` is the
/// file's name: its extension determines the format of the text.
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
/// When the file as a whole cannot be used: its form, no rows, missing columns. Errors in rows are in the result.
pub fn read_label_lines(
    name: &str,
    text: &str,
    words: &LabelWords,
) -> Result<LabelLines, Vec<LabelFileError>> {
    let table = Table::read_rows(name, text).map_err(|error| vec![error])?;
    if table.columns.is_empty() && !table.broken.is_empty() {
        return Err(table.broken);
    }
    check_columns(name, &table)?;
    let is_known = |column: &&String| NEEDED.iter().chain(&OPTIONAL).any(|known| known == column);
    let mut lines = LabelLines {
        unused: table
            .columns
            .iter()
            .filter(|column| !is_known(column))
            .cloned()
            .collect(),
        unreadable: table.broken,
        ..LabelLines::default()
    };
    let mut first = HashMap::new();
    for record in &table.records {
        let place = record.place;
        let label = label(name, record, words, &mut lines.unreadable);
        let of = (
            label.conv_id.clone(),
            label.metric_id.clone(),
            label.labeller.clone(),
        );
        let is_whole = [&of.0, &of.1, &of.2].iter().all(|text| !text.is_empty());
        let earlier = *first.entry(of).or_insert(place);
        if is_whole && earlier != place {
            lines.repeated.push(repeated(name, place, &label, earlier));
        }
        lines.labels.push(LabelLine { place, label });
    }
    // Broken rows were found first.
    lines.unreadable.sort_by_key(LabelFileError::place);
    Ok(lines)
}

/// The errors of missing columns, each with the column that is probably meant.
fn check_columns(name: &str, table: &Table) -> Result<(), Vec<LabelFileError>> {
    let known = || {
        let columns = table.columns.iter().map(String::as_str);
        columns.filter(|column| !NEEDED.contains(column))
    };
    let mut missing = Vec::new();
    for (column, others) in NEEDED.iter().zip(OTHER_NAMES) {
        if table.columns.iter().any(|known| known == column) {
            continue;
        }
        let is_other = |known: &&str| {
            let plain = known.to_lowercase().replace(['-', ' '], "_");
            others.contains(&plain.as_str())
        };
        let near = match known().find(is_other).or_else(|| nearest(column, known())) {
            Some(near) => format!("; rename `{near}` if it is meant"),
            None => String::new(),
        };
        let help = format!("the columns are {}", table.columns.join(", "));
        let error = LabelFileError::new(name, format!("no column `{column}`{near}"));
        missing.push(error.with_help(help));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(missing),
    }
}

fn repeated(name: &str, place: LinePlace, label: &HumanLabel, first: LinePlace) -> LabelFileError {
    let reason = format!(
        "{:?} labelled {:?} for {:?} in {first} already",
        label.labeller, label.conv_id, label.metric_id
    );
    LabelFileError::new(name, reason).at(place)
}

/// The label of a row, as far as it can be read. Errors are added to `unreadable`.
fn label(
    name: &str,
    record: &Record,
    words: &LabelWords,
    unreadable: &mut Vec<LabelFileError>,
) -> HumanLabel {
    let fault = |reason: String| LabelFileError::new(name, reason).at(record.place);
    let cells = NEEDED.map(|column| match record.text(column) {
        Some(text) if !is_blank(text) => text.trim(),
        _ => {
            unreadable.push(fault(format!("`{column}` is blank")));
            ""
        }
    });
    let [conv_id, metric_id, passed, labeller] = cells;
    let passed = match passed {
        "" => None,
        word => words.read(word).unwrap_or_else(|help| {
            unreadable.push(fault(format!("unknown label {word:?} in `passed`")).with_help(help));
            None
        }),
    };
    let note = record.optional("note");
    let length = note.map_or(0, |note| note.chars().count());
    if length > LONGEST_NOTE {
        let reason = format!("`note` has {length} characters; at most {LONGEST_NOTE} are a note");
        let help = "shorten it; in a CSV, a double quote that is not closed takes what follows into the note";
        unreadable.push(fault(reason).with_help(help));
    }
    HumanLabel {
        note: note.map(str::to_owned),
        transcript: record.optional("_transcript").map(str::to_owned),
        ..HumanLabel::new(conv_id, metric_id, labeller, passed)
    }
}
