//! Tables with titles.

use super::time::{from, seconds};
use crate::{
    numbers::{UNKNOWN, dollars, grouped, percent},
    table::Table,
    text::{clean, wrapped},
};

/// A cell of a [`JournalTable`].
#[derive(Clone, Debug, PartialEq)]
pub enum JournalCell {
    /// A text.
    Text(String),
    /// A count.
    Count(u64),
    /// A duration in seconds.
    Seconds(f64),
    /// A time in whole seconds since the start that times count from.
    From(u64),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// Dollars.
    Dollars(f64),
    /// The known part of a cost in dollars.
    AtLeast(f64),
    /// An unknown or missing value.
    Unknown,
}

impl JournalCell {
    fn render(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => grouped(*n),
            Self::Seconds(length) => seconds(*length),
            Self::From(time) => from(*time),
            Self::Share(share) => percent(Some(*share)),
            Self::Dollars(amount) => dollars(*amount),
            Self::AtLeast(amount) => format!("{}+", dollars(*amount)),
            Self::Unknown => UNKNOWN.to_owned(),
        }
    }
}

impl From<&str> for JournalCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for JournalCell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for JournalCell {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

/// A table with a title above it.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalTable {
    /// The title of the table.
    pub title: String,
    /// The number of columns, from the left, that hold names. The others hold numbers.
    pub names: usize,
    /// The columns' names.
    pub header: Vec<&'static str>,
    /// A cell for every column.
    pub rows: Vec<Vec<JournalCell>>,
}

/// Tables one below the other. With `columns`, names are shortened until a table fits. Tables without rows are left out.
///
/// ```
/// use report::{JournalCell, JournalTable, journal_tables};
///
/// let table = JournalTable {
///     title: "cache".to_owned(),
///     names: 1,
///     header: vec!["model", "calls", "from the cache"],
///     rows: vec![vec!["careful".into(), 8_u64.into(), JournalCell::Share(0.125)]],
/// };
/// assert_eq!(
///     journal_tables(&[table], Some(80)),
///     "cache\n  model    calls  from the cache\n  careful      8             13%\n"
/// );
/// ```
#[must_use]
pub fn journal_tables(tables: &[JournalTable], columns: Option<usize>) -> String {
    let mut text = String::new();
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&clean(&table.title));
        text.push('\n');
        let mut lines = Table::new(table.names, &table.header);
        for row in &table.rows {
            lines.row(row.iter().map(JournalCell::render).collect());
        }
        text.push_str(&lines.render(columns.unwrap_or(usize::MAX)));
    }
    text
}

/// A finding: a title with lines below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalFinding {
    /// The subject.
    pub title: String,
    /// The text.
    pub lines: Vec<String>,
}

/// Findings one below the other under `title`; empty without findings. With `columns`, the texts are wrapped there.
#[must_use]
pub fn journal_findings(
    title: &str,
    findings: &[JournalFinding],
    columns: Option<usize>,
) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let columns = columns.unwrap_or(usize::MAX);
    let mut text = wrapped(&clean(title), "", columns);
    for finding in findings {
        text.push_str(&wrapped(&clean(&finding.title), "  ", columns));
        for line in &finding.lines {
            text.push_str(&wrapped(&clean(line), "    ", columns));
        }
    }
    text
}
