//! A grid of rates, metrics by models, with shaded cells.

use interop::sheet::{Cell, Column, Sheet};
use schema::statistics::RateStatistics;
use serde::Serialize;

use super::{Block, Section, SectionPart};
use crate::{
    html::summary::MetricLabel,
    numbers::{compact_interval, percent_digits},
    text::clean,
};

/// In a grid with more cells, the cells have no intervals, so that the page stays small.
const DETAILED: usize = 400;
/// The most models that fit into Markdown and on paper.
const PRINTED: usize = 8;

/// A grid of rates.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Grid {
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What a row stands for: the heading of the first column.
    pub corner: &'static str,
    /// Names of models, and links to their rows.
    pub columns: Vec<(String, String)>,
    pub rows: Vec<GridRow>,
    /// Whether the grid is so large that its cells are reached through their rows and columns.
    pub is_large: bool,
}

/// The row of a metric.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GridRow {
    pub metric: MetricName,
    /// The name of the metric as one text.
    #[serde(skip)]
    pub name: String,
    pub link: String,
    pub cells: Vec<GridCell>,
}

/// The name of a metric in parts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MetricName {
    /// Empty where the name is the id.
    id: String,
    name: String,
    is_negative: bool,
}

impl MetricName {
    pub(crate) fn of(label: &MetricLabel) -> Self {
        let (id, name) = match label.name.trim() {
            name if name.is_empty() || name == label.id => ("", &*label.id),
            name => (&*label.id, name),
        };
        Self {
            id: clean(id),
            name: clean(name),
            is_negative: label.is_negative(),
        }
    }
}

/// The rate of a metric and a model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GridCell {
    pub text: String,
    /// The interval; empty in a large grid.
    pub small: String,
    /// From 0 (all rows passed) to 10 (all rows failed); `None` without a rate.
    pub shade: Option<u8>,
    pub link: String,
}

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let metrics = place.part.rated_metrics();
    let targets = &place.part.statistics.targets;
    if metrics.is_empty() || metrics.len() * targets.len() < 2 {
        return None;
    }
    let is_detailed = metrics.len() * targets.len() <= DETAILED;
    let row = |metric: &MetricLabel| GridRow {
        metric: MetricName::of(metric),
        name: clean(&metric.full_text()),
        link: place.link(None, Some(&metric.id)),
        cells: targets
            .iter()
            .map(|target| {
                let link = place.link(Some(&target.target), Some(&metric.id));
                cell(target.rates.metrics.get(&metric.id), link, is_detailed)
            })
            .collect(),
    };
    let columns = targets.iter().map(|target| {
        let link = place.link(Some(&target.target), None);
        (clean(target.target.as_str()), link)
    });
    let (title, corner) = match place.part.is_safety() {
        true => ("Groups by models", "group"),
        false => ("Metrics by models", "metric"),
    };
    let grid = Grid {
        title: title.to_owned(),
        note: match is_detailed {
            true => {
                "Pass rates in percent, with their 95% intervals. A dash: no row has a verdict."
            }
            false => "Pass rates in percent. A dash: no row has a verdict.",
        }
        .to_owned(),
        corner,
        columns: columns.collect(),
        rows: metrics.iter().map(row).collect(),
        is_large: !is_detailed,
    };
    place.section("grid", title, vec![Block::Grid(grid)])
}

fn cell(rate: Option<&RateStatistics>, link: String, is_detailed: bool) -> GridCell {
    let estimate = rate.and_then(|rate| rate.estimate);
    let ends = rate.and_then(|rate| rate.lower.zip(rate.upper));
    GridCell {
        text: estimate.map_or_else(|| "–".to_owned(), percent_digits),
        small: match (is_detailed, ends) {
            (true, Some(_)) => compact_interval(ends),
            _ => String::new(),
        },
        shade: estimate.map(shade),
        link,
    }
}

/// The tenths of rows that failed. Only a rate of 1 has no shade, and only a rate of 0 has the strongest shade.
fn shade(rate: f64) -> u8 {
    let failed = (1.0 - rate).clamp(0.0, 1.0);
    if failed == 0.0 {
        return 0;
    }
    if failed == 1.0 {
        return 10;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 9"
    )]
    let tenths = (failed * 10.0).round().clamp(1.0, 9.0) as u8;
    tenths
}

impl Grid {
    /// The grid as a table; `None` if it has more models than fit on paper.
    pub(crate) fn sheet(&self) -> Option<Sheet> {
        if self.columns.len() > PRINTED {
            return None;
        }
        let mut columns = vec![Column::name(self.corner)];
        columns.extend(self.columns.iter().map(|(name, _)| Column::number(name)));
        let mut sheet = Sheet::new("grid", "", columns);
        for row in &self.rows {
            let mut cells = vec![Cell::new(row.name.clone())];
            cells.extend(row.cells.iter().map(|cell| match cell.small.as_str() {
                "" => Cell::new(cell.text.clone()),
                interval => Cell::new(format!("{} ({interval})", cell.text)),
            }));
            sheet.row(cells);
        }
        sheet.notes.push(self.note.clone());
        Some(sheet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_look_like_the_ends() {
        let shaded =
            [0.0, 0.0001, 0.5, 0.9999, 1.0].map(|rate| (percent_digits(rate), shade(rate)));
        let cells = shaded
            .each_ref()
            .map(|(text, shade)| (text.as_str(), *shade));
        assert_eq!(
            cells,
            [("0", 10), ("<1", 9), ("50", 5), (">99", 1), ("100", 0)]
        );
    }
}
