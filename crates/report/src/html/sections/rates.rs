//! Rates with their intervals, drawn as dots and bars with all models on one axis.

use interop::{
    figures::RateColumn,
    sheet::{Cell, Column, RowsOf, Sheet, Strip},
};
use schema::{
    MetricType, ModelId,
    statistics::{RateStatistics, Rates},
    text::counted,
};

use super::{Block, SectionPart};
use crate::{
    html::summary::MetricLabel,
    numbers,
    overview::corrected,
    results::{RATES, is_bounded, rate_cells, rate_columns, rate_notes, worth_note},
    text::clean,
};

/// A drawing with more rows is folded.
const OPEN: usize = 80;
/// The most rows of a table by metric. Above this, it is left out: the matrix has every rate.
const MOST: usize = 1_500;

/// The rows of a target that a rate covers.
enum Scope<'a> {
    All,
    Type(MetricType),
    Hazard(&'a str, &'a str),
    Metric(&'a MetricLabel),
}

impl Scope<'_> {
    fn of<'r>(&self, rates: &'r Rates) -> Option<&'r RateStatistics> {
        match self {
            Self::All => Some(&rates.all),
            Self::Type(MetricType::Positive) => Some(&rates.positive),
            Self::Type(MetricType::Negative) => Some(&rates.negative),
            Self::Hazard(id, _) => rates.hazards.get(*id),
            Self::Metric(metric) => rates.metrics.get(&metric.id),
        }
    }

    /// The heading of a group of rows.
    fn title(&self) -> String {
        match self {
            Self::All => "all rows".to_owned(),
            Self::Type(MetricType::Positive) => {
                "positive metrics: passed with the behaviour".to_owned()
            }
            Self::Type(MetricType::Negative) => {
                "negative metrics: passed without the behaviour".to_owned()
            }
            Self::Hazard(id, name) if id == name => (*id).to_owned(),
            Self::Hazard(id, name) => format!("{id} {name}"),
            Self::Metric(metric) => metric.full_text(),
        }
    }

    /// The name in the first column.
    fn cell(&self, rows: RowsOf) -> Cell {
        match self {
            Self::Metric(metric) => Cell::metric(&metric.id, rows),
            Self::Type(MetricType::Positive) => Cell::about("positive metrics", rows),
            Self::Type(MetricType::Negative) => Cell::about("negative metrics", rows),
            _ => Cell::about(self.title(), rows),
        }
    }

    fn metric(&self) -> Option<&str> {
        match self {
            Self::Metric(metric) => Some(&metric.id),
            _ => None,
        }
    }
}

/// What the judges answered in metrics on a scale or with categories, a line for each target and metric.
pub(super) fn values(place: &SectionPart<'_>) -> Vec<Block> {
    let verdicts = place.part.verdicts.iter();
    let line = verdicts.map(|verdicts| {
        let (sut, metric) = (clean(verdicts.sut.as_str()), clean(&verdicts.metric_id));
        Block::Note(format!("{sut}: {metric}: {}.", clean(&verdicts.text)))
    });
    line.collect()
}

/// The tables with the numbers behind the rates: rows, independent rows, bounds. Closed but for the one of hazards.
pub(super) fn tables(place: &SectionPart<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let hazards: Vec<Scope<'_>> = place
        .part
        .hazards
        .iter()
        .map(|(id, name)| Scope::Hazard(id, name))
        .collect();
    blocks.extend(block(place, "by-hazard", "By hazard", &hazards));
    blocks.extend(pooled(place).map(Block::Folded));
    let metrics = place.part.rated_metrics();
    let by_metric: Vec<Scope<'_>> = metrics.iter().map(Scope::Metric).collect();
    let title = match place.part.is_safety() {
        true => "By group: rows, bounds and independent rows",
        false => "By metric: rows, bounds and independent rows",
    };
    if metrics.len() * place.part.statistics.targets.len() <= MOST {
        let sheet = sheet(place, "by-metric", title, &by_metric);
        blocks.extend(sheet.map(Block::Folded));
    }
    blocks
}

/// The pooled scopes: all rows and each type if there are metrics of both types, otherwise the one type alone.
fn pooled_scopes<'a>(place: &SectionPart<'_>) -> Vec<Scope<'a>> {
    let part = place.part;
    let targets = &part.statistics.targets;
    let has = |of: fn(&Rates) -> &RateStatistics| {
        targets.iter().any(|target| {
            let rate = of(&target.rates);
            rate.rows + rate.missing.unscored() > 0
        })
    };
    let (positive, negative) = (has(|rates| &rates.positive), has(|rates| &rates.negative));
    match (positive, negative) {
        (true, false) if !part.is_safety() => vec![Scope::Type(MetricType::Positive)],
        (false, true) => vec![Scope::Type(MetricType::Negative)],
        (true, true) => vec![
            Scope::All,
            Scope::Type(MetricType::Positive),
            Scope::Type(MetricType::Negative),
        ],
        _ => vec![Scope::All],
    }
}

/// The table of the rates over all rows and by type of metric.
fn pooled(place: &SectionPart<'_>) -> Option<Sheet> {
    let part = place.part;
    let targets = &part.statistics.targets;
    let scopes = pooled_scopes(place);
    let title = "Over all rows: rows, bounds and independent rows";
    let mut sheet = sheet(place, "rates", title, &scopes)?;
    sheet.notes.extend(rate_notes(targets));
    if part.has_negative() {
        sheet.notes.push(RATES.to_owned());
    }
    sheet.note(worth_note(&sheet));
    Some(sheet)
}

/// The main table for a paper, with a line for each model.
pub(super) fn main(place: &SectionPart<'_>) -> Option<Sheet> {
    let part = place.part;
    let targets = &part.statistics.targets;
    if targets.is_empty() {
        return None;
    }
    let scopes = pooled_scopes(place);
    let has_labels = targets.iter().any(|target| corrected(target).is_some());
    let mut columns = vec![Column::name("model")];
    columns.extend(scopes.iter().map(|scope| {
        Column::number(match scope {
            Scope::Type(MetricType::Positive) => "positive",
            Scope::Type(MetricType::Negative) => "negative",
            _ if part.is_safety() => "safe",
            _ => "all rows",
        })
    }));
    if has_labels {
        columns.push(Column::number("corrected"));
    }
    let counts = [
        RateColumn::Rows,
        RateColumn::Cases(cases(place)),
        RateColumn::NoVerdict,
    ];
    columns.extend(counts.map(RateColumn::kept_column));
    let title = format!("{}: pass rates with their 95% intervals", part.name);
    let mut sheet = Sheet::new(&part.folder, title, columns);
    for target in targets {
        let all = &target.rates.all;
        let mut cells = vec![Cell::new(target.target.as_str())];
        cells.extend(scopes.iter().map(|scope| {
            let rate = scope.of(&target.rates).cloned().unwrap_or_default();
            Cell::rate_with_interval(rate.estimate, rate.lower.zip(rate.upper))
        }));
        if has_labels {
            let rate = corrected(target).cloned().unwrap_or_default();
            let ends = rate.lower.zip(rate.upper);
            cells.push(Cell::rate_with_interval(rate.estimate, ends));
        }
        cells.extend(counts.map(|column| column.cell(&all.into())));
        sheet.row(cells);
    }
    sheet.notes.extend(rate_notes(targets));
    if part.has_negative() {
        sheet.notes.push(RATES.to_owned());
    }
    if has_labels {
        let note = "Corrected: the rate over all rows that people would give, by their labels.";
        sheet.notes.push(note.to_owned());
    }
    Some(sheet)
}

fn block(place: &SectionPart<'_>, id: &str, title: &str, scopes: &[Scope<'_>]) -> Option<Block> {
    let sheet = sheet(place, id, title, scopes)?;
    Some(match sheet.lines.len() > OPEN {
        true => Block::Folded(sheet),
        false => Block::Table(sheet),
    })
}

/// A table of rates. With one target, each row is a scope. With several targets, each scope is a group with a row for each target.
fn sheet(place: &SectionPart<'_>, id: &str, title: &str, scopes: &[Scope<'_>]) -> Option<Sheet> {
    let targets = &place.part.statistics.targets;
    if targets.is_empty() || scopes.is_empty() {
        return None;
    }
    let is_one = targets.len() == 1;
    let first = match (is_one, scopes) {
        (true, [Scope::Metric(_), ..]) if place.part.is_safety() => "group",
        (true, [Scope::Metric(_), ..]) => "metric",
        (true, [Scope::Hazard(..), ..]) => "hazard",
        (true, _) => "rows of",
        (false, _) => "model",
    };
    let mut columns = vec![Column::name(first)];
    columns.extend(rate_columns(cases(place)));
    let mut sheet = Sheet::new(id, title, columns);
    for scope in scopes {
        if !is_one {
            sheet.group(match scope.metric() {
                Some(metric) => scope.cell(RowsOf::metric(metric)),
                None => Cell::new(scope.title()),
            });
        }
        for target in targets {
            let rows = RowsOf::both(&target.target, scope.metric());
            let name = match is_one {
                true => scope.cell(rows.clone()),
                false => Cell::about(target.target.as_str(), rows.clone()),
            };
            let rate = scope.of(&target.rates).cloned().unwrap_or_default();
            let strip = strip(&rate, title_of(&target.target, scope, &rate));
            let mut row = vec![name, Cell::drawn(strip, rows)];
            row.extend(rate_cells(&rate));
            sheet.row(row);
        }
    }
    let sheet = sheet.so_far(place.part.is_so_far());
    Some(sheet.without_empty_columns())
}

pub(super) fn cases(place: &SectionPart<'_>) -> &'static str {
    match place.part.is_safety() {
        true => "cases",
        false => "scenarios",
    }
}

fn title_of(target: &ModelId, scope: &Scope<'_>, rate: &RateStatistics) -> String {
    match rate.estimate {
        None => format!("{target}, {}: no verdict", scope.title()),
        estimate => format!(
            "{target}, {}: {}, {}",
            scope.title(),
            numbers::rate(estimate, rate.lower.zip(rate.upper)),
            counted(rate.rows, "row", "rows")
        ),
    }
}

fn strip(rate: &RateStatistics, title: String) -> Strip {
    let bounds = rate.bounds.filter(|_| is_bounded(rate));
    Strip {
        estimate: rate.estimate,
        interval: rate.lower.zip(rate.upper),
        bounds: bounds.map(|ends| (ends.lower, ends.upper)),
        title,
    }
}
