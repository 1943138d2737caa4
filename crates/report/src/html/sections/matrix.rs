//! Metrics down, models across: a rate with its interval in each cell, and a mark where the corrected test says that it is lower than the
//! best of its row.

use interop::sheet::{Cell, Column, Sheet};
use schema::{
    MetricType, ModelId,
    numbers::{compact_interval, percent, point_digits, points},
    statistics::{DifferenceFamily, RateStatistics, Statistics, TargetStatistics},
    text::counted,
};
use serde::Serialize;

use super::{Block, Section, SectionPart, rates};
use crate::{
    html::{
        charts::{DrawnRate, key, rate_chart, spread_chart},
        summary::MetricLabel,
    },
    model_mark::ModelMark,
    numbers::rate as rate_text,
    overview::{by_metric, pooled, ranked},
    text::{clean, prefix},
};

/// With more models than this, a cell is a number, and its interval is in its title.
const DRAWN: usize = 8;
/// In a matrix with more cells, cells have no titles, so that the page stays small.
const TITLED: usize = 3_000;
/// The most models that fit into Markdown and on paper.
const PRINTED: usize = 8;
/// With more models than this, only the best ones have open columns.
const COLUMNS: usize = 12;
/// How many columns are open then.
const BEST: usize = 6;
/// With more metrics than this, only those with the widest spread are open.
const ROWS: usize = 25;
/// The most letters of a definition.
const DEFINITION: usize = 140;

/// The table of all rates by metric and model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Matrix {
    pub(crate) id: String,
    /// What a row stands for.
    pub(crate) corner: &'static str,
    /// The models, best first.
    pub(crate) columns: Vec<MatrixColumn>,
    pub(crate) rows: Vec<MatrixRow>,
    /// How many columns and rows are open at first.
    pub(crate) open_columns: usize,
    pub(crate) open_rows: usize,
    /// Whether each cell has a drawing.
    pub(crate) is_drawn: bool,
    pub(crate) legend: Vec<String>,
}

/// A model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MatrixColumn {
    pub(crate) name: String,
    pub(crate) link: String,
    pub(crate) key: String,
    pub(crate) is_folded: bool,
}

/// A metric, or all of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MatrixRow {
    pub(crate) name: String,
    pub(crate) metric_id: String,
    /// `avoids bad` or `promotes good`, and what the metric asks.
    pub(crate) about: String,
    pub(crate) link: String,
    /// The points between the lowest and the highest rate; empty with one model.
    pub(crate) spread: String,
    /// The same, to sort by.
    pub(crate) spread_value: f64,
    pub(crate) strip: String,
    pub(crate) cells: Vec<MatrixCell>,
    pub(crate) is_all: bool,
    pub(crate) is_folded: bool,
}

/// The rate of a model in a metric.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MatrixCell {
    pub(crate) text: String,
    /// Interval and rows, for a tooltip.
    pub(crate) title: String,
    pub(crate) link: String,
    pub(crate) class: String,
    pub(crate) chart: String,
    pub(crate) model: String,
    pub(crate) is_best: bool,
    pub(crate) is_lower: bool,
    pub(crate) is_folded: bool,
    #[serde(skip)]
    rate: Option<(f64, Option<(f64, f64)>)>,
}

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let metrics = place.part.rated_metrics();
    let targets = ranked(&place.part.statistics);
    if metrics.is_empty() || targets.is_empty() {
        return None;
    }
    let matrix = matrix(place, &metrics, &targets);
    let mut blocks = Vec::new();
    blocks.extend(finding(place, &matrix).map(Block::Lead));
    blocks.push(Block::Matrix(Box::new(matrix)));
    blocks.extend(rates::values(place));
    blocks.extend(rates::tables(place));
    let title = match place.part.is_safety() {
        true => "Groups",
        false => "Metrics",
    };
    place.section("metrics", title, blocks)
}

/// One sentence on what the table shows: how many pairs differ, and where the spread is widest.
fn finding(place: &SectionPart<'_>, matrix: &Matrix) -> Option<String> {
    let statistics = &place.part.statistics;
    let of_metrics = || {
        let pairs = statistics.comparisons.iter();
        pairs.filter(|pair| pair.difference.family == DifferenceFamily::Metric)
    };
    let tests = of_metrics().count() as u64;
    let shown = of_metrics()
        .filter(|pair| pair.difference.differs())
        .count() as u64;
    let mut said = Vec::new();
    if tests > 0 {
        let differ = if shown == 1 { "differs" } else { "differ" };
        said.push(format!(
            "{} of {} {differ} after correction.",
            schema::numbers::grouped(shown),
            counted(tests, "pair in single metrics", "pairs in single metrics")
        ));
    }
    let rows = matrix.rows.iter().filter(|row| !row.is_all);
    let widest = rows.max_by(|one, other| one.spread_value.total_cmp(&other.spread_value))?;
    if matrix.columns.len() > 1 && widest.spread_value > 0.0 {
        let rates: Vec<f64> = widest
            .cells
            .iter()
            .filter_map(|cell| Some(cell.rate?.0))
            .collect();
        let highest = rates.iter().copied().reduce(f64::max)?;
        let lowest = rates.iter().copied().reduce(f64::min)?;
        said.push(format!(
            "The widest spread is in {}: {} against {}.",
            widest.name,
            percent(highest),
            percent(lowest)
        ));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

fn matrix(
    place: &SectionPart<'_>,
    metrics: &[MetricLabel],
    targets: &[&TargetStatistics],
) -> Matrix {
    let statistics = &place.part.statistics;
    let open_columns = match targets.len() > COLUMNS {
        true => BEST,
        false => targets.len(),
    };
    let is_drawn = targets.len() <= DRAWN;
    let context = Context {
        place,
        targets,
        open_columns,
        is_drawn,
        is_titled: targets.len() * metrics.len() <= TITLED,
    };
    let mut rows: Vec<MatrixRow> = metrics
        .iter()
        .map(|metric| context.metric(metric))
        .collect();
    rows.sort_by(|one, other| other.spread_value.total_cmp(&one.spread_value));
    let open_rows = match rows.len() > ROWS {
        true => ROWS,
        false => rows.len(),
    };
    rows.iter_mut()
        .skip(open_rows)
        .for_each(|row| row.is_folded = true);
    if metrics.len() > 1 {
        rows.insert(0, context.all(metrics.len()));
    }
    let columns = targets.iter().enumerate().map(|(at, target)| MatrixColumn {
        name: clean(target.target.as_str()),
        link: place.link(Some(&target.target), None),
        key: key(ModelMark::for_id(target.target.as_str())),
        is_folded: at >= open_columns,
    });
    Matrix {
        id: place.anchor("matrix"),
        corner: match place.part.is_safety() {
            true => "Group",
            false => "Metric",
        },
        columns: columns.collect(),
        rows,
        open_columns,
        open_rows,
        is_drawn,
        legend: legend(statistics, is_drawn),
    }
}

/// What the marks mean, a few words each.
fn legend(statistics: &Statistics, is_drawn: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let models = statistics.targets.len();
    if models > Statistics::MOST_COMPARED {
        lines.push(format!(
            "Pairs are compared up to {} models: with {models}, order and intervals are shown and no cell is marked.",
            Statistics::MOST_COMPARED
        ));
    }
    let pairs = statistics.comparisons.iter().map(|pair| &pair.difference);
    let tests: Vec<_> = pairs
        .filter(|found| found.family == DifferenceFamily::Metric)
        .collect();
    if let Some(first) = tests.first() {
        lines.push(format!(
            "▼ lower than the best of its row: paired test, Holm over {}, p ≤ 0.05.",
            counted(first.family_size, "comparison", "comparisons")
        ));
        let mut could: Vec<f64> = tests
            .iter()
            .filter_map(|found| found.could_have_shown)
            .collect();
        could.sort_by(f64::total_cmp);
        let scenarios = tests
            .iter()
            .map(|found| found.scenarios)
            .max()
            .unwrap_or_default();
        let scenarios = counted(scenarios, "scenario", "scenarios");
        lines.push(match could.get(could.len() / 2) {
            Some(least) => format!(
                "Unmarked: no difference to the best is shown; {scenarios} show one of about {} or more.",
                points(*least)
            ),
            None => format!("Unmarked: no difference to the best is shown; {scenarios} show a very large one at most."),
        });
    }
    if models > 1 {
        lines.push("Bold: the highest of its row.".to_owned());
    }
    if is_drawn {
        lines
            .push("Each cell from 0 to 100%, with its 95% interval; it opens its rows.".to_owned());
    } else {
        lines.push(
            "Percent; a cell's title has its 95% interval, and the cell opens its rows.".to_owned(),
        );
    }
    lines
}

/// The beginning of a definition, up to the end of a word.
fn beginning(definition: &str) -> String {
    let start = prefix(definition, DEFINITION);
    if start.len() == definition.len() {
        return definition.to_owned();
    }
    let end = start.rfind(' ').unwrap_or(start.len());
    format!("{}…", start.get(..end).unwrap_or(start))
}

struct Context<'c, 'a> {
    place: &'c SectionPart<'a>,
    targets: &'c [&'c TargetStatistics],
    open_columns: usize,
    is_drawn: bool,
    is_titled: bool,
}

impl Context<'_, '_> {
    fn metric(&self, metric: &MetricLabel) -> MatrixRow {
        let statistics = &self.place.part.statistics;
        let is_lower = |best: &ModelId, other: &ModelId| {
            let found = by_metric(statistics, best, other, &metric.id);
            found.is_some_and(|found| {
                found.difference.differs() && found.difference.difference > 0.0
            })
        };
        let polarity = match metric.metric_type {
            _ if self.place.part.is_safety() => "",
            Some(MetricType::Positive) => "promotes good",
            Some(MetricType::Negative) => "avoids bad",
            None => "",
        };
        let definition = beginning(&clean(&metric.definition));
        let about = match (polarity, definition.as_str()) {
            (polarity, "") => polarity.to_owned(),
            ("", definition) => definition.to_owned(),
            (polarity, definition) => format!("{polarity}. {definition}"),
        };
        let name = match metric.name.trim() {
            "" => metric.id.as_str(),
            name => name,
        };
        MatrixRow {
            name: clean(name),
            metric_id: match name == metric.id {
                true => String::new(),
                false => clean(&metric.id),
            },
            about,
            link: self.place.link(None, Some(&metric.id)),
            ..self.row(
                Some(&metric.id),
                |rates| rates.rates.metrics.get(&metric.id),
                is_lower,
            )
        }
    }

    /// The row of all metrics.
    fn all(&self, metrics: usize) -> MatrixRow {
        let statistics = &self.place.part.statistics;
        let is_lower = |best: &ModelId, other: &ModelId| {
            let found = pooled(statistics, best, other);
            found.is_some_and(|found| {
                found.difference.differs() && found.difference.difference > 0.0
            })
        };
        MatrixRow {
            name: format!("All {}", super::facts::metrics_counted(self.place, metrics)),
            is_all: true,
            link: self.place.link(None, None),
            ..self.row(None, |target| Some(&target.rates.all), is_lower)
        }
    }

    fn row<'t>(
        &'t self,
        metric: Option<&str>,
        of: impl Fn(&'t TargetStatistics) -> Option<&'t RateStatistics>,
        is_lower: impl Fn(&ModelId, &ModelId) -> bool,
    ) -> MatrixRow {
        let rates: Vec<(&TargetStatistics, Option<&RateStatistics>)> = self
            .targets
            .iter()
            .map(|target| (*target, of(target)))
            .collect();
        let known: Vec<(f64, &ModelId)> = rates
            .iter()
            .filter_map(|(target, rate)| Some((rate.as_ref()?.estimate?, &target.target)))
            .collect();
        let best = known
            .iter()
            .copied()
            .reduce(|one, other| if other.0 > one.0 { other } else { one });
        let lowest = known.iter().map(|(share, _)| *share).reduce(f64::min);
        let spread = best
            .zip(lowest)
            .map_or(0.0, |((highest, _), lowest)| highest - lowest);
        let cells = rates.iter().enumerate().map(|(at, (target, rate))| {
            let estimate = rate.and_then(|rate| rate.estimate);
            let is_best =
                known.len() > 1 && estimate.is_some() && estimate == best.map(|(share, _)| share);
            let lower = !is_best && best.is_some_and(|(_, id)| is_lower(id, &target.target));
            self.cell(at, target, metric, *rate, is_best, lower)
        });
        let marks: Vec<(f64, ModelMark)> = known
            .iter()
            .map(|(share, id)| (*share, ModelMark::for_id(id.as_str())))
            .collect();
        MatrixRow {
            name: String::new(),
            metric_id: String::new(),
            about: String::new(),
            link: String::new(),
            spread: match known.len() > 1 {
                true => point_digits(spread),
                false => String::new(),
            },
            spread_value: spread,
            strip: match known.len() > 1 {
                true => spread_chart(&marks),
                false => String::new(),
            },
            cells: cells.collect(),
            is_all: false,
            is_folded: false,
        }
    }

    fn cell(
        &self,
        at: usize,
        target: &TargetStatistics,
        metric: Option<&str>,
        rate: Option<&RateStatistics>,
        is_best: bool,
        is_lower: bool,
    ) -> MatrixCell {
        let estimate = rate.and_then(|rate| rate.estimate);
        let ends = rate.and_then(|rate| rate.lower.zip(rate.upper));
        let mark = ModelMark::for_id(target.target.as_str());
        let rows = counted(rate.map_or(0, |rate| rate.rows), "row", "rows");
        let lower = if is_lower {
            ", shown lower than the best"
        } else {
            ""
        };
        let drawn = estimate.map(|estimate| DrawnRate {
            estimate,
            interval: ends,
        });
        MatrixCell {
            text: estimate.map_or_else(|| "–".to_owned(), percent),
            title: match ends {
                _ if !self.is_titled => String::new(),
                Some(ends) => format!("{}%, {rows}{lower}", compact_interval(ends)),
                None => format!("no verdict of {rows}"),
            },
            link: self.place.link(Some(&target.target), metric),
            class: mark.class(),
            chart: match self.is_drawn {
                true => rate_chart(drawn, None, mark, true),
                false => String::new(),
            },
            model: clean(target.target.as_str()),
            is_best,
            is_lower,
            is_folded: at >= self.open_columns,
            rate: estimate.map(|estimate| (estimate, ends)),
        }
    }
}

impl Matrix {
    /// The rates as a table; `None` if it has more models than fit on paper.
    pub(crate) fn sheet(&self) -> Option<Sheet> {
        if self.columns.len() > PRINTED {
            return None;
        }
        let mut columns = vec![Column::name(self.corner)];
        columns.extend(
            self.columns
                .iter()
                .map(|column| Column::number(&column.name)),
        );
        let mut sheet = Sheet::new("matrix", "", columns);
        for row in &self.rows {
            let mut cells = vec![Cell::new(&row.name)];
            cells.extend(row.cells.iter().map(|cell| {
                let text = rate_text(
                    cell.rate.map(|(share, _)| share),
                    cell.rate.and_then(|(_, ends)| ends),
                );
                match cell.is_lower {
                    true => Cell::new(format!("{text} ▼")),
                    false => Cell::new(text),
                }
            }));
            sheet.row(cells);
        }
        let legend = self.legend.iter();
        sheet.notes.extend(
            legend
                .filter(|line| !line.starts_with("Bold") && !line.starts_with("Each"))
                .cloned(),
        );
        Some(sheet)
    }
}
