//! Labels of people in files of other programs: CSV, JSONL, or a JSON list of objects, with one table row for each labelled row.
//!
//! ```
//! use interop::labels::{LabelColumns, LabelWords, read_labels};
//!
//! let text = "reply,human,judge\nNo.,1,yes\nSure!,0,yes\n";
//! let columns = LabelColumns {
//!     labels: vec!["human".to_owned()],
//!     judge: Some("judge".to_owned()),
//!     ..LabelColumns::default()
//! };
//! let rows = read_labels("labels.csv", text, &columns, &LabelWords::default())?;
//! assert_eq!((rows[1].judge, rows[1].labels[0].passed), (Some(true), Some(false)));
//! # Ok::<(), interop::labels::LabelFileError>(())
//! ```
//!
//! # Limits
//! - The whole file is held in memory as one text, and [`read_labels`] stops at the first error.

mod error;
mod lines;
mod quotes;
mod table;
mod words;

use indexmap::IndexMap;
use schema::{ProgramFlag, Turn, nearest, text::is_blank};

pub use error::{LabelFileError, LinePlace};
pub use lines::{LabelLine, LabelLines, read_label_lines};
use table::{Record, Table};
pub use words::LabelWords;

/// The columns of a label file, by their content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// The labels of people: one column per person, or one for all.
    pub labels: Vec<String>,
    /// The verdicts of the judge.
    pub judge: Option<String>,
    /// The columns that identify a labelled row, if several lines belong to one row; empty: each line is a row.
    pub row: Vec<String>,
    /// The person who labelled the line; `None`: the name of the label's column.
    pub labeller: Option<String>,
    /// The value that dependent rows share: a scenario, a prompt.
    pub scenario: Option<String>,
    /// The metric of the label; `None`: all labels have the same metric.
    pub metric: Option<String>,
    /// The user's message.
    pub user: Option<String>,
    /// The reply of the model under test.
    pub reply: Option<String>,
    /// The whole conversation: a JSON list of `{role, content}`.
    pub transcript: Option<String>,
}

impl LabelColumns {
    /// The columns of a list like `labels.json`, with the judge's verdict in an additional one: `conv_id`, `metric_id`, `passed`,
    /// `labeller`.
    #[must_use]
    pub fn of_labels_json() -> Self {
        let name = str::to_owned;
        Self {
            labels: vec![name("passed")],
            row: vec![name("conv_id"), name("metric_id")],
            labeller: Some(name("labeller")),
            metric: Some(name("metric_id")),
            ..Self::default()
        }
    }

    /// All columns that are named.
    fn named(&self) -> Vec<&str> {
        let one = [
            &self.judge,
            &self.labeller,
            &self.scenario,
            &self.metric,
            &self.user,
            &self.reply,
            &self.transcript,
        ];
        let lists = self.labels.iter().chain(&self.row);
        lists
            .chain(one.into_iter().flatten())
            .map(String::as_str)
            .collect()
    }
}

/// A row that was labelled by people, or could have been.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelFileRow {
    /// Where it begins.
    pub place: LinePlace,
    /// The row's id: the values of the `row` columns, else its number from 1.
    pub id: String,
    /// The value that it shares with dependent rows; its own id without such a column.
    pub scenario: String,
    /// The metric's id, if the file has it.
    pub metric: Option<String>,
    /// Whether the judge passed it; `None` without its verdict.
    pub judge: Option<bool>,
    /// The labels of people; empty for a row without labels.
    pub labels: Vec<FileLabel>,
    /// The conversation, if the file has it.
    pub transcript: Vec<Turn>,
}

/// One person's label of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLabel {
    /// The person, or the column.
    pub labeller: String,
    /// Whether the row passes; `None` if it is unclear.
    pub passed: Option<bool>,
}

/// Whether a text is a list of labels in the format of `labels.json`.
#[must_use]
pub fn is_like_labels_json(name: &str, text: &str) -> bool {
    Table::read(name, text).is_ok_and(|table| {
        let has = |column: &str| table.columns.iter().any(|known| known == column);
        has("conv_id") && has("labeller") && has("passed")
    })
}

/// Reads the rows of a text. `name` is the file's name: its extension determines the format.
///
/// # Errors
/// The first error with its location: a text in another format, a missing column, a word that is not a label, a person who labelled a row
/// twice, no row or no label at all.
pub fn read_labels(
    name: &str,
    text: &str,
    columns: &LabelColumns,
    words: &LabelWords,
) -> Result<Vec<LabelFileRow>, LabelFileError> {
    let table = Table::read_rows(name, text)?;
    if let Some(error) = table.broken.first() {
        return Err(error.clone());
    }
    for column in columns.named() {
        check_column(name, &table, column)?;
    }
    let reading = Reading {
        name,
        columns,
        words,
    };
    let mut rows = IndexMap::<String, LabelFileRow>::new();
    for (number, record) in (1_u64..).zip(&table.records) {
        let row = reading.row(number, record)?;
        match rows.get_mut(&row.id) {
            Some(known) => reading.join(known, row)?,
            None => {
                rows.insert(row.id.clone(), row);
            }
        }
    }
    if !rows.values().any(|row| !row.labels.is_empty()) {
        let shown = columns.labels.join("`, `");
        return Err(LabelFileError::new(
            name,
            format!("no row has a label: `{shown}` is blank in all"),
        ));
    }
    Ok(rows.into_values().collect())
}

fn check_column(name: &str, table: &Table, column: &str) -> Result<(), LabelFileError> {
    if table.columns.iter().any(|known| known == column) {
        return Ok(());
    }
    let known = table.columns.iter().map(String::as_str);
    let near = match nearest(column, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Err(
        LabelFileError::new(name, format!("no column `{column}`{near}"))
            .with_help(format!("the columns are {}", table.columns.join(", "))),
    )
}

struct Reading<'r> {
    name: &'r str,
    columns: &'r LabelColumns,
    words: &'r LabelWords,
}

impl Reading<'_> {
    fn row(&self, number: u64, record: &Record) -> Result<LabelFileRow, LabelFileError> {
        let columns = self.columns;
        let text = |column: &Option<String>| {
            let column = column.as_deref()?;
            record.text(column).filter(|text| !is_blank(text))
        };
        let id = match columns.row.is_empty() {
            true => number.to_string(),
            false => {
                let parts = columns.row.iter().map(|column| self.needed(record, column));
                parts.collect::<Result<Vec<_>, _>>()?.join(" ")
            }
        };
        let judge = match &columns.judge {
            Some(column) => self.word(record, column)?.flatten(),
            None => None,
        };
        let mut labels = Vec::new();
        for column in &columns.labels {
            if let Some(passed) = self.word(record, column)? {
                let labeller = match &columns.labeller {
                    Some(labeller) => self.needed(record, labeller)?,
                    None => column,
                };
                labels.push(FileLabel {
                    labeller: labeller.to_owned(),
                    passed,
                });
            }
        }
        Ok(LabelFileRow {
            place: record.place,
            scenario: text(&columns.scenario).unwrap_or(&id).to_owned(),
            metric: text(&columns.metric).map(str::to_owned),
            judge,
            labels,
            transcript: self.transcript(record)?,
            id,
        })
    }

    /// Adds another line of a known row.
    fn join(&self, known: &mut LabelFileRow, row: LabelFileRow) -> Result<(), LabelFileError> {
        let fault = |reason: String| LabelFileError::new(self.name, reason).at(row.place);
        for label in &row.labels {
            if known
                .labels
                .iter()
                .any(|other| other.labeller == label.labeller)
            {
                return Err(fault(format!(
                    "{:?} labelled the row {:?} before: it begins in {}",
                    label.labeller, known.id, known.place
                ))
                .with_help(format!(
                    "keep one label of each person on a row, or name the column of people with {}",
                    ProgramFlag::new("labeller-column")
                )));
            }
        }
        if let (Some(one), Some(other)) = (known.judge, row.judge)
            && one != other
        {
            return Err(fault(format!(
                "the judge has another verdict on the row {:?} than in {}",
                known.id, known.place
            )));
        }
        known.judge = known.judge.or(row.judge);
        known.labels.extend(row.labels);
        Ok(())
    }

    /// The text of a column that must not be blank.
    fn needed<'t>(&self, record: &'t Record, column: &str) -> Result<&'t str, LabelFileError> {
        let text = record.text(column).filter(|text| !is_blank(text));
        text.ok_or_else(|| {
            LabelFileError::new(self.name, format!("`{column}` is blank")).at(record.place)
        })
    }

    /// A label or a verdict; `None` if the cell is blank.
    fn word(&self, record: &Record, column: &str) -> Result<Option<Option<bool>>, LabelFileError> {
        let Some(text) = record.text(column) else {
            return Ok(None);
        };
        if is_blank(text) {
            return Ok(None);
        }
        let unknown = |help| {
            LabelFileError::new(self.name, format!("unknown label {text:?} in `{column}`"))
                .at(record.place)
                .with_help(help)
        };
        self.words.read(text).map(Some).map_err(unknown)
    }

    fn transcript(&self, record: &Record) -> Result<Vec<Turn>, LabelFileError> {
        use schema::Role;
        if let Some(column) = &self.columns.transcript {
            let text = self.needed(record, column)?;
            return serde_json::from_str(text).map_err(|error| {
                let reason = format!("`{column}` is no JSON list of {{role, content}}: {error}");
                LabelFileError::new(self.name, reason).at(record.place)
            });
        }
        let Some(reply) = &self.columns.reply else {
            return Ok(Vec::new());
        };
        let mut turns = Vec::new();
        if let Some(user) = &self.columns.user {
            turns.push(Turn::new(Role::User, self.needed(record, user)?));
        }
        // The model's reply may be empty.
        turns.push(Turn::new(
            Role::Assistant,
            record.text(reply).unwrap_or_default(),
        ));
        Ok(turns)
    }
}

#[cfg(test)]
mod tests;
