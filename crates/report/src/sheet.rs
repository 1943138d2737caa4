//! Tables that every format of a report shares: HTML, Markdown, LaTeX and charts are made of the same rows.

use crate::{
    html::MetricLabel,
    numbers::{compact_interval, percent},
    text::clean,
};

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    /// What it is about. Also the name of its file where it is drawn: letters, digits and `-`.
    pub id: String,
    /// What stands above it; nothing where the heading of its section says it.
    pub title: String,
    pub columns: Vec<Column>,
    pub lines: Vec<Line>,
    /// What a reader should know of it, a sentence each.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub kind: ColumnKind,
    /// Whether narrow screens may leave it out.
    pub is_wide: bool,
    /// Whether a chart of its own shows it beside the drawing.
    pub is_drawn: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// What the row is about.
    Name,
    Number,
    Words,
    /// A drawing on this axis; only HTML and charts have it.
    Chart(Axis),
}

/// What a drawing spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// 0 to 1.
    Rate,
    /// -1 to 1.
    Difference,
}

/// A line of a table.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// Stands above the rows of one group.
    Group(Box<Cell>),
    /// A cell for every column.
    Row(Vec<Cell>),
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub text: String,
    /// The rows that it is about.
    pub link: Option<String>,
    pub strip: Option<Strip>,
    /// The class of a word: `pass`, `fail`, `none`, `better`, `worse` or `same`.
    pub word: Option<&'static str>,
    /// What LaTeX sets below the text: an interval.
    pub below: String,
    /// The metric whose name is the text, for formats that can set its parts apart.
    pub metric: Option<MetricLabel>,
}

/// An estimate with its interval, as it is drawn. All from the values of the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Strip {
    pub estimate: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// Between what it lies whatever the missing verdicts would have been; `None` where nothing is missing.
    pub bounds: Option<(f64, f64)>,
    /// Which model it is of, for its colour and shape.
    pub series: usize,
    /// The same in words.
    pub title: String,
}

impl Column {
    fn new(name: &str, kind: ColumnKind) -> Self {
        Self {
            name: clean(name),
            kind,
            is_wide: false,
            is_drawn: false,
        }
    }

    pub(crate) fn name(name: &str) -> Self {
        Self::new(name, ColumnKind::Name)
    }

    pub(crate) fn number(name: &str) -> Self {
        Self::new(name, ColumnKind::Number)
    }

    pub(crate) fn words(name: &str) -> Self {
        Self::new(name, ColumnKind::Words)
    }

    pub(crate) fn chart(axis: Axis) -> Self {
        Self::new("", ColumnKind::Chart(axis))
    }

    pub(crate) fn wide(self) -> Self {
        Self {
            is_wide: true,
            ..self
        }
    }

    pub(crate) fn drawn(self) -> Self {
        Self {
            is_drawn: true,
            ..self
        }
    }

    pub(crate) fn is_chart(&self) -> bool {
        matches!(self.kind, ColumnKind::Chart(_))
    }
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: clean(&text.into()),
            ..Self::default()
        }
    }

    pub(crate) fn linked(text: impl Into<String>, link: impl Into<String>) -> Self {
        Self {
            link: Some(link.into()),
            ..Self::new(text)
        }
    }

    pub(crate) fn word(text: impl Into<String>, class: &'static str) -> Self {
        Self {
            word: Some(class),
            ..Self::new(text)
        }
    }

    /// The name of a metric: its id, its name, and whether it is negative.
    pub(crate) fn metric(label: &MetricLabel, link: impl Into<String>) -> Self {
        Self {
            metric: Some(label.clone()),
            ..Self::linked(label.full_text(), link)
        }
    }

    /// A rate, and its interval below it.
    pub(crate) fn rate(estimate: Option<f64>, ends: Option<(f64, f64)>) -> Self {
        Self {
            below: ends.map_or_else(String::new, |_| compact_interval(ends)),
            ..Self::new(percent(estimate))
        }
    }

    pub(crate) fn drawn(mut strip: Strip, link: Option<String>) -> Self {
        strip.title = clean(&strip.title);
        Self {
            strip: Some(strip),
            link,
            ..Self::default()
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self::new(n.to_string())
    }
}

impl Sheet {
    pub(crate) fn new(id: &str, title: impl AsRef<str>, columns: Vec<Column>) -> Self {
        Self {
            id: id.to_owned(),
            title: clean(title.as_ref()),
            columns,
            ..Self::default()
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.lines.push(Line::Row(cells));
    }

    pub(crate) fn group(&mut self, head: impl Into<Cell>) {
        self.lines.push(Line::Group(Box::new(head.into())));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The axis of its drawing.
    pub(crate) fn axis(&self) -> Option<Axis> {
        self.columns.iter().find_map(|column| match column.kind {
            ColumnKind::Chart(axis) => Some(axis),
            _ => None,
        })
    }

    /// Leaves out the columns of words and numbers that are empty in every row.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let rows = || {
            self.lines.iter().filter_map(|line| match line {
                Line::Row(cells) => Some(cells),
                Line::Group(_) => None,
            })
        };
        let is_used = |(at, column): (usize, &Column)| {
            matches!(column.kind, ColumnKind::Name | ColumnKind::Chart(_))
                || rows().any(|cells| cells.get(at).is_some_and(|cell| !cell.text.is_empty()))
        };
        let used: Vec<bool> = self.columns.iter().enumerate().map(is_used).collect();
        let keep = |at: usize| used.get(at).copied().unwrap_or(true);
        let mut at = 0;
        self.columns.retain(|_| {
            at += 1;
            keep(at - 1)
        });
        for line in &mut self.lines {
            if let Line::Row(cells) = line {
                let mut at = 0;
                cells.retain(|_| {
                    at += 1;
                    keep(at - 1)
                });
            }
        }
        self
    }
}
