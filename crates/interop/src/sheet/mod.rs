//! Tables of figures as values: terminal, Markdown, LaTeX and HTML are made from the same rows.
//!
//! ```
//! use interop::sheet::{Cell, Column, Sheet, markdown};
//!
//! let columns = vec![Column::name("model"), Column::number("rate"), Column::number("95% interval")];
//! let mut sheet = Sheet::new("rates", "Rates", columns);
//! sheet.row(vec!["careful".into(), Cell::rate(Some(0.75)), Cell::interval(Some((0.712, 0.79)))]);
//! assert_eq!(
//!     markdown::table(&sheet),
//!     "| model | rate | 95% interval |\n|---|--:|--:|\n| careful | 75% | 71–79 |\n"
//! );
//! ```

mod cell;
pub mod csv;
pub mod markdown;
mod one_line;

pub use cell::{Cell, RowsOf, Strip, UNKNOWN, Value};
pub use one_line::{one_line, printable};

/// The heading of intervals.
const INTERVAL: &str = "95% interval";
/// Their heading where they hold however often they are looked at.
const INTERVAL_SO_FAR: &str = "95%, any look";

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Identifies the table. Also the name of the chart's file: letters, digits and `-`.
    pub id: String,
    /// The title above the table. Empty if the heading of its section says the same.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows and their headings.
    pub lines: Vec<Line>,
    /// Notes on the table, a sentence each.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading. A table whose columns have none has no line of headings on a terminal.
    pub name: String,
    /// The heading on a terminal, if it is another one.
    pub short: Option<String>,
    /// The contents.
    pub kind: ColumnKind,
    /// Whether narrow screens may hide the column.
    pub is_wide: bool,
    /// Whether a chart file shows the column beside the drawing.
    pub is_drawn: bool,
    /// Whether a terminal leaves out a name that the row above has, too.
    pub is_once: bool,
    /// Whether a terminal shows the drawing, on an axis of rates.
    pub is_in_text: bool,
    /// The names in files: two for an interval. Files leave out a column without any.
    pub in_files: Vec<&'static str>,
}

/// The contents of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// The subject of the row. On a terminal, long names are shortened.
    Name,
    /// Numbers, aligned on the right.
    Number,
    /// Words, which are never shortened.
    Words,
    /// A sentence. On a terminal, it stands below the table.
    Remark,
    /// A drawing on this axis. HTML and charts show it, and a terminal where [`Column::in_text`] says so.
    Chart(Axis),
}

/// The range of values that a drawing spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// 0 to 1.
    Rate,
    /// -1 to 1.
    Difference,
    /// From and to, in tens of percentage points, from -10 to 10: fitted to the differences that it shows.
    Tens(i8, i8),
}

/// A line of a table.
#[derive(Clone, Debug)]
pub enum Line {
    /// The heading of a group of rows.
    Group(Box<Cell>),
    /// A cell for every column.
    Row(Vec<Cell>),
}

impl Column {
    fn new(name: &str, kind: ColumnKind) -> Self {
        Self {
            name: one_line(name),
            short: None,
            kind,
            is_wide: false,
            is_drawn: false,
            is_once: false,
            is_in_text: false,
            in_files: Vec::new(),
        }
    }

    /// A column of names.
    #[must_use]
    pub fn name(name: &str) -> Self {
        Self::new(name, ColumnKind::Name)
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(name: &str) -> Self {
        Self::new(name, ColumnKind::Number)
    }

    /// A column of words.
    #[must_use]
    pub fn words(name: &str) -> Self {
        Self::new(name, ColumnKind::Words)
    }

    /// A column of sentences.
    #[must_use]
    pub fn remark(name: &str) -> Self {
        Self::new(name, ColumnKind::Remark)
    }

    /// A column of drawings.
    #[must_use]
    pub fn chart(axis: Axis) -> Self {
        Self::new("", ColumnKind::Chart(axis))
    }

    /// With another heading on a terminal.
    #[must_use]
    pub fn short(self, name: &str) -> Self {
        Self {
            short: Some(name.to_owned()),
            ..self
        }
    }

    /// Narrow screens may hide the column.
    #[must_use]
    pub fn wide(self) -> Self {
        Self {
            is_wide: true,
            ..self
        }
    }

    /// A chart file shows the column.
    #[must_use]
    pub fn drawn(self) -> Self {
        Self {
            is_drawn: true,
            ..self
        }
    }

    /// A terminal leaves out a name that the row above has, too.
    #[must_use]
    pub fn once(self) -> Self {
        Self {
            is_once: true,
            ..self
        }
    }

    /// A terminal draws the rate with its interval.
    #[must_use]
    pub fn in_text(self) -> Self {
        Self {
            is_in_text: true,
            ..self
        }
    }

    /// With names in files, two for an interval.
    #[must_use]
    pub fn in_files<const N: usize>(self, names: [&'static str; N]) -> Self {
        Self {
            in_files: names.into(),
            ..self
        }
    }

    /// Whether it is a column of drawings.
    #[must_use]
    pub fn is_chart(&self) -> bool {
        matches!(self.kind, ColumnKind::Chart(_))
    }
}

impl Sheet {
    /// A table without rows.
    #[must_use]
    pub fn new(id: &str, title: impl AsRef<str>, columns: Vec<Column>) -> Self {
        Self {
            id: id.to_owned(),
            title: one_line(title.as_ref()),
            columns,
            ..Self::default()
        }
    }

    /// Adds a row with a cell for every column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.lines.push(Line::Row(cells));
    }

    /// Adds the heading of a group of rows.
    pub fn group(&mut self, head: impl Into<Cell>) {
        self.lines.push(Line::Group(Box::new(head.into())));
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Whether the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether the table has neither rows nor notes.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.lines.is_empty() && self.notes.is_empty()
    }

    /// Whether a row has a value in the column of this name.
    #[must_use]
    pub fn has_value(&self, column: &str) -> bool {
        let at = self.columns.iter().position(|one| one.name == column);
        at.is_some_and(|at| self.is_used(at))
    }

    fn is_used(&self, column: usize) -> bool {
        self.lines.iter().any(|line| match line {
            Line::Row(cells) => cells.get(column).is_some_and(|cell| !cell.is_blank()),
            Line::Group(_) => false,
        })
    }

    /// The axis of the table's drawing.
    #[must_use]
    pub fn axis(&self) -> Option<Axis> {
        self.columns.iter().find_map(|column| match column.kind {
            ColumnKind::Chart(axis) => Some(axis),
            _ => None,
        })
    }

    /// All cells, with those of headings.
    pub fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.lines.iter_mut().flat_map(|line| match line {
            Line::Group(head) => std::slice::from_mut(&mut **head),
            Line::Row(cells) => cells,
        })
    }

    /// Names the columns of intervals after what they are of, where these hold at every look.
    #[must_use]
    pub fn so_far(mut self, is_so_far: bool) -> Self {
        let columns = self.columns.iter_mut();
        for column in columns.filter(|column| is_so_far && column.name == INTERVAL) {
            INTERVAL_SO_FAR.clone_into(&mut column.name);
        }
        self
    }

    /// Removes the columns of words and numbers that are empty in every row.
    #[must_use]
    pub fn without_empty_columns(self) -> Self {
        let columns = self.columns.iter().enumerate();
        let used: Vec<bool> = columns
            .map(|(at, column)| {
                matches!(column.kind, ColumnKind::Name | ColumnKind::Chart(_)) || self.is_used(at)
            })
            .collect();
        self.with_columns(|at, _| used.get(at).copied().unwrap_or(true))
    }

    /// Keeps the columns for which `keep` is true: it is given their position, from the left.
    #[must_use]
    pub fn with_columns(mut self, keep: impl Fn(usize, &Column) -> bool) -> Self {
        let kept: Vec<bool> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| keep(at, column))
            .collect();
        self.columns = only(self.columns, &kept);
        let lines = self.lines.into_iter().map(|line| match line {
            Line::Row(cells) => Line::Row(only(cells, &kept)),
            group @ Line::Group(_) => group,
        });
        self.lines = lines.collect();
        self
    }
}

fn only<T>(all: Vec<T>, kept: &[bool]) -> Vec<T> {
    let marked = all.into_iter().zip(kept);
    marked
        .filter_map(|(one, kept)| kept.then_some(one))
        .collect()
}

/// Each text once, with everything that it is said of, in the order of the first.
pub fn together<T: PartialEq>(
    said: impl IntoIterator<Item = (T, String)>,
) -> Vec<(T, Vec<String>)> {
    let mut found: Vec<(T, Vec<String>)> = Vec::new();
    for (text, about) in said {
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, all)) => all.push(about),
            None => found.push((text, vec![about])),
        }
    }
    found
}
