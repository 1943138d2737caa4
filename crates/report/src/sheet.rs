//! Tables that every format of a report shares: HTML, Markdown, LaTeX and charts are made from the same rows.

use crate::{
    html::MetricLabel,
    numbers::{compact_interval, grouped, percent},
    text::clean,
};

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    /// Identifies the table. Also the name of the chart's file: letters, digits and `-`.
    pub id: String,
    /// The title above the table. Empty if the heading of its section says the same.
    pub title: String,
    pub columns: Vec<Column>,
    pub lines: Vec<Line>,
    /// Notes on the table, a sentence each.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub kind: ColumnKind,
    /// Whether narrow screens may hide the column.
    pub is_wide: bool,
    /// Whether a chart file shows the column beside the drawing.
    pub is_drawn: bool,
}

/// The contents of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// The subject of the row.
    Name,
    Number,
    Words,
    /// A drawing on this axis. Only HTML and charts show it.
    Chart(Axis),
}

/// The range of values that a drawing spans.
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
    /// The heading of a group of rows.
    Group(Box<Cell>),
    /// A cell for every column.
    Row(Vec<Cell>),
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub text: String,
    /// The link to the rows that the cell summarises.
    pub link: Option<String>,
    pub strip: Option<Strip>,
    /// The class of a word: `pass`, `fail`, `none`, `better`, `worse` or `same`.
    pub word: Option<&'static str>,
    /// The interval that LaTeX sets below the text.
    pub below: String,
    /// The metric that the text names, for formats that can set its parts apart.
    pub metric: Option<MetricLabel>,
}

/// An estimate with its interval, as it is drawn. All numbers are values on the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Strip {
    pub estimate: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// The bounds of the estimate whatever the missing verdicts would have been; `None` if no verdict is missing.
    pub bounds: Option<(f64, f64)>,
    /// The number of the model, which selects colour and shape.
    pub series: usize,
    /// The estimate and its interval in words.
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
        Self::new(grouped(n))
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

    /// The axis of the table's drawing.
    pub(crate) fn axis(&self) -> Option<Axis> {
        self.columns.iter().find_map(|column| match column.kind {
            ColumnKind::Chart(axis) => Some(axis),
            _ => None,
        })
    }

    /// Removes the columns of words and numbers that are empty in every row.
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
