//! The figures of a rate, a column each: the table of a terminal, the report's, the job summary's and `summary.csv` select theirs.

use schema::statistics::RateStatistics;

use crate::sheet::{Axis, Cell, Column, Value};

/// A column of a table of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateColumn {
    /// The drawing. [`Self::cell`] leaves it blank.
    Drawing,
    /// The share of rows that passed.
    Rate,
    /// The interval of the rate.
    Interval,
    /// The lower end of the interval, where it has a column of its own.
    Lower,
    /// The upper end of the interval, where it has a column of its own.
    Upper,
    /// Rows that passed.
    Passed,
    /// Rows with a verdict.
    Rows,
    /// The scenarios or cases that the rows are samples of.
    Cases(&'static str),
    /// How many independent rows the rows are worth.
    Worth,
    /// Rows without a verdict.
    NoVerdict,
    /// The interval whatever the rows without a verdict would have been.
    Bounds,
    /// The standard error, in points.
    StandardError,
}

/// The figures of a rate.
#[derive(Clone, Copy, Debug)]
pub struct RateFigures<'a> {
    /// Rows that passed.
    pub passed: u64,
    /// Rows with a verdict.
    pub rows: u64,
    /// Rows without a verdict.
    pub no_verdict: u64,
    /// The share of rows that passed; `None` without rows.
    pub share: Option<f64>,
    /// The statistics, if they are known of exactly these rows.
    pub statistics: Option<&'a RateStatistics>,
}

impl<'a> From<&'a RateStatistics> for RateFigures<'a> {
    fn from(rate: &'a RateStatistics) -> Self {
        Self {
            passed: rate.passed,
            rows: rate.rows,
            no_verdict: rate.missing.unscored(),
            share: rate.estimate,
            statistics: Some(rate),
        }
    }
}

impl RateColumn {
    /// The heading.
    #[must_use]
    pub fn column(self) -> Column {
        match self {
            Self::Drawing => Column::chart(Axis::Rate),
            Self::Rate => Column::number("rate").drawn(),
            Self::Interval => Column::number("95% interval").drawn(),
            Self::Lower => Column::number("lower"),
            Self::Upper => Column::number("upper"),
            Self::Passed => Column::number("passed"),
            Self::Rows => Column::number("rows"),
            Self::Cases(name) => Column::number(name).wide(),
            Self::Worth => Column::number("worth").wide(),
            Self::NoVerdict => Column::number("no verdict"),
            Self::Bounds => Column::number("bounds").wide(),
            Self::StandardError => Column::number("standard error, points")
                .short("error, points")
                .wide(),
        }
    }

    /// The heading in a table that a narrow terminal shows whole.
    #[must_use]
    pub fn kept_column(self) -> Column {
        Column {
            is_wide: false,
            ..self.column()
        }
    }

    /// The cell of a rate.
    #[must_use]
    pub fn cell(self, of: &RateFigures<'_>) -> Cell {
        let rate = of.statistics;
        let end = |end: Option<f64>| Cell::rate(end);
        match self {
            Self::Drawing => Cell::default(),
            Self::Rate => Cell::rate(of.share),
            Self::Interval => Cell::interval(rate.and_then(|rate| rate.lower.zip(rate.upper))),
            Self::Lower => end(rate.and_then(|rate| rate.lower)),
            Self::Upper => end(rate.and_then(|rate| rate.upper)),
            Self::Passed => of.passed.into(),
            Self::Rows => of.rows.into(),
            Self::Cases(_) => rate.map(|rate| rate.scenarios).into(),
            Self::Worth => {
                let rows = rate.and_then(|rate| rate.effective_rows);
                rows.map(|rows| Cell::of(Value::Worth(rows)))
                    .unwrap_or_default()
            }
            Self::NoVerdict => of.no_verdict.into(),
            Self::Bounds => {
                let bounded = rate.filter(|rate| is_bounded(rate));
                let bounds = bounded.and_then(|rate| rate.bounds);
                bounds
                    .map(|ends| Cell::interval(Some((ends.lower, ends.upper))))
                    .unwrap_or_default()
            }
            Self::StandardError => {
                Cell::known(rate.and_then(|rate| rate.standard_error), Value::Points)
            }
        }
    }
}

/// Whether verdicts are missing, so that the bounds say more than the interval.
#[must_use]
pub fn is_bounded(rate: &RateStatistics) -> bool {
    rate.missing.unscored() + rate.missing.incomplete > 0
}
