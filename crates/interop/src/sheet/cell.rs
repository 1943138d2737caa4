//! Cells and their values.

use schema::{ModelId, PhaseCost, numbers};

use super::one_line;

/// Shown for an unknown value.
pub const UNKNOWN: &str = "-";

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What the cell says.
    pub value: Value,
    /// The rows of the benchmark that the cell summarises.
    pub rows: Option<RowsOf>,
    /// Whether the text is the id of a metric, which formats with room for it replace by the metric's name.
    pub is_metric: bool,
    /// The drawing.
    pub strip: Option<Strip>,
    /// The class of a word: `pass`, `fail`, `none`, `better`, `worse` or `same`.
    pub word: Option<&'static str>,
    /// What a remark is about, for formats in which it stands below the table. Without it, they leave the remark out.
    pub about: Option<String>,
}

/// The value of a cell. Intervals are pairs of their ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing: the column does not apply to the row.
    #[default]
    Blank,
    /// A value that is not known: `-`.
    Missing,
    /// Text on one line.
    Text(String),
    /// A count.
    Count(u64),
    /// A share from 0 to 1, and its interval.
    Rate(f64, Option<(f64, f64)>),
    /// The interval of a share.
    Interval((f64, f64)),
    /// A difference of two shares.
    Points(f64),
    /// The interval of a difference of two shares.
    PointInterval((f64, f64)),
    /// How many independent rows some rows are worth.
    Worth(f64),
    /// A p-value.
    P(f64),
    /// Dollars.
    Dollars(f64),
    /// The known part of a cost in dollars.
    DollarsAtLeast(f64),
    /// A duration in seconds.
    Seconds(f64),
    /// A time in whole seconds since the start that times count from.
    Since(u64),
}

/// Some rows of a benchmark: those of a target, of a metric, or of a target and a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsOf {
    /// The target; `None` stands for all.
    pub target: Option<ModelId>,
    /// The metric; `None` stands for all.
    pub metric: Option<String>,
}

impl RowsOf {
    /// The rows of a target.
    #[must_use]
    pub fn target(target: &ModelId) -> Self {
        Self::both(target, None)
    }

    /// The rows of a target, all or those of a metric.
    #[must_use]
    pub fn both(target: &ModelId, metric: Option<&str>) -> Self {
        Self {
            target: Some(target.clone()),
            metric: metric.map(str::to_owned),
        }
    }

    /// The rows of a metric.
    #[must_use]
    pub fn metric(metric: &str) -> Self {
        Self {
            target: None,
            metric: Some(metric.to_owned()),
        }
    }
}

/// An estimate with its interval, as it is drawn. All numbers are values on the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// The estimate.
    pub estimate: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// The bounds of the estimate whatever the missing verdicts would have been; `None` if no verdict is missing.
    pub bounds: Option<(f64, f64)>,
    /// The estimate and its interval in words.
    pub title: String,
}

impl Value {
    /// The value as people read it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Missing => UNKNOWN.to_owned(),
            Self::Text(text) => text.clone(),
            Self::Count(n) => numbers::grouped(*n),
            Self::Rate(share, None) => numbers::percent(*share),
            Self::Rate(share, Some(ends)) => format!(
                "{} ({})",
                numbers::percent(*share),
                numbers::compact_interval(*ends)
            ),
            Self::Interval(ends) => numbers::compact_interval(*ends),
            Self::Points(difference) => numbers::point_digits(*difference),
            Self::PointInterval(ends) => numbers::point_interval(*ends),
            Self::Worth(rows) => numbers::worth(*rows),
            Self::P(p) => numbers::p_digits(*p),
            Self::Dollars(dollars) => numbers::dollars(*dollars),
            Self::DollarsAtLeast(dollars) => format!("{}+", numbers::dollars(*dollars)),
            Self::Seconds(seconds) => numbers::duration(*seconds),
            Self::Since(seconds) => format!("+{}", numbers::clock(*seconds)),
        }
    }
}

impl Cell {
    /// A text, on one line and without control characters.
    #[must_use]
    pub fn new(text: impl AsRef<str>) -> Self {
        Self::of(Value::Text(one_line(text.as_ref())))
    }

    /// A value.
    #[must_use]
    pub fn of(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// An unknown value.
    #[must_use]
    pub fn missing() -> Self {
        Self::of(Value::Missing)
    }

    /// The value that `of` makes of a known one, else `-`.
    #[must_use]
    pub fn known<T>(value: Option<T>, of: impl FnOnce(T) -> Value) -> Self {
        Self::of(value.map_or(Value::Missing, of))
    }

    /// A text for some rows.
    #[must_use]
    pub fn about(text: impl AsRef<str>, rows: RowsOf) -> Self {
        Self::new(text).of_rows(rows)
    }

    /// The id of a target, for its rows.
    #[must_use]
    pub fn target(target: &ModelId) -> Self {
        Self::about(target.as_str(), RowsOf::target(target))
    }

    /// The id of a metric, for rows of it.
    #[must_use]
    pub fn metric(metric: &str, rows: RowsOf) -> Self {
        Self {
            is_metric: true,
            ..Self::about(metric, rows)
        }
    }

    /// A word with its class.
    #[must_use]
    pub fn word(text: impl AsRef<str>, class: &'static str) -> Self {
        Self {
            word: Some(class),
            ..Self::new(text)
        }
    }

    /// A share from 0 to 1.
    #[must_use]
    pub fn rate(share: Option<f64>) -> Self {
        Self::known(share, |share| Value::Rate(share, None))
    }

    /// A share with its interval.
    #[must_use]
    pub fn rate_with_interval(share: Option<f64>, ends: Option<(f64, f64)>) -> Self {
        Self::known(share, |share| Value::Rate(share, ends))
    }

    /// The interval of a share.
    #[must_use]
    pub fn interval(ends: Option<(f64, f64)>) -> Self {
        Self::known(ends, Value::Interval)
    }

    /// A cost: the known part with `+` if only a part is known.
    #[must_use]
    pub fn cost(cost: Option<f64>, priced: Option<f64>) -> Self {
        Self::of(match (cost, priced) {
            (Some(all), _) => Value::Dollars(all),
            (None, Some(part)) if part > 0.0 => Value::DollarsAtLeast(part),
            _ => Value::Missing,
        })
    }

    /// The cost of a phase.
    #[must_use]
    pub fn phase_cost(cost: Option<&PhaseCost>) -> Self {
        Self::cost(
            cost.and_then(|cost| cost.cost),
            cost.and_then(|cost| cost.priced_cost),
        )
    }

    /// A drawing.
    #[must_use]
    pub fn drawn(mut strip: Strip, rows: RowsOf) -> Self {
        strip.title = one_line(&strip.title);
        Self {
            strip: Some(strip),
            rows: Some(rows),
            ..Self::default()
        }
    }

    /// For some rows.
    #[must_use]
    pub fn of_rows(self, rows: RowsOf) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }

    /// The text of the value.
    #[must_use]
    pub fn text(&self) -> String {
        self.value.text()
    }

    /// Whether the cell says nothing.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match &self.value {
            Value::Blank => true,
            Value::Text(text) => text.is_empty(),
            _ => false,
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
        Self::of(Value::Count(n))
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    /// An unknown value is `-`.
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::missing, Into::into)
    }
}
