//! The rates per model.

use std::collections::BTreeMap;

pub(crate) use interop::figures::is_bounded;
use interop::{
    figures::RateColumn,
    sheet::{Cell, Column, Sheet, together},
};
use schema::{
    ModelId, PhaseCost,
    statistics::{RateStatistics, Rates, Statistics, TargetStatistics},
};

use crate::{
    numbers::{UNKNOWN, grouped},
    terminal::sheet_text,
    text::clean,
};

/// The results of one benchmark.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkResults<'a> {
    /// The benchmark's name.
    pub name: &'a str,
    /// The rates of each model, in display order.
    pub statistics: &'a Statistics,
    /// The cost of each model's conversations and of judging them. The cost of a model without an entry is unknown.
    pub costs: &'a BTreeMap<ModelId, PhaseCost>,
    /// The verdicts of metrics on a scale or with categories, a line below the table for each.
    pub verdicts: &'a [TargetVerdicts],
}

/// The judges' answers about one target on a metric that is not answered with yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetVerdicts {
    /// The target.
    pub sut: ModelId,
    /// The metric.
    pub metric_id: String,
    /// The mean, or the share of each label.
    pub text: String,
}

/// A table per benchmark: for each model the pass rates of positive and of negative metrics, each with its 95% interval, its number of
/// rows and base scenarios, and the number of rows without a verdict.
///
/// Lines below state the cost of each model, the meaning of a high rate of negative metrics, and notes on single rates. A rate without
/// rows is shown as `-`, never as 0. An unknown cost is shown as `-`. If a part of the cost is known, that part is shown with a `+`, and
/// a line explains it. `width` is the terminal's width; the table is wider only if its numbers need it.
#[must_use]
pub fn results_table(benchmarks: &[BenchmarkResults<'_>], width: usize) -> String {
    let tables: Vec<String> = benchmarks
        .iter()
        .map(|benchmark| one_table(benchmark, width))
        .collect();
    tables.join("\n")
}

/// Tables of a benchmark's rates by hazard, if it defines hazards, and by metric, if it has several: for each model the pass rate with its
/// 95% interval, its number of rows and base scenarios, how many independent rows these are worth, the number of rows without a verdict,
/// and the bounds of the rate whatever those verdicts are.
#[must_use]
pub fn metrics_sheets(name: &str, statistics: &Statistics) -> Vec<Sheet> {
    let targets = statistics.targets.iter();
    let has_hazards = |target: &TargetStatistics| {
        let Rates {
            hazards, metrics, ..
        } = &target.rates;
        !hazards.is_empty() && hazards.keys().ne(metrics.keys())
    };
    let mut sheets = Vec::new();
    if targets.clone().any(has_hazards) {
        sheets.push(rates_by(name, "hazard", statistics, |rates| &rates.hazards));
    }
    if targets.clone().any(|target| target.rates.metrics.len() > 1) {
        sheets.push(rates_by(name, "metric", statistics, |rates| &rates.metrics));
    }
    sheets
}

fn rates_by(
    name: &str,
    what: &str,
    statistics: &Statistics,
    of: fn(&Rates) -> &BTreeMap<String, RateStatistics>,
) -> Sheet {
    let mut columns = vec![Column::name(what)];
    columns.extend(rate_columns("scenarios"));
    let id = format!("by-{what}");
    let mut sheet = Sheet::new(&id, format!("{name}, by {what}"), columns);
    for target in &statistics.targets {
        sheet.group(Cell::target(&target.target));
        for (scope, rate) in of(&target.rates) {
            let mut row = vec![scope.as_str().into(), Cell::default()];
            row.extend(rate_cells(rate));
            sheet.row(row);
        }
    }
    sheet.note(worth_note(&sheet));
    sheet.so_far(statistics.is_so_far()).without_empty_columns()
}

/// The columns of a rate, the drawing first. `cases` is what its rows are samples of.
fn all_columns(cases: &'static str) -> [RateColumn; 8] {
    [
        RateColumn::Drawing,
        RateColumn::Rate,
        RateColumn::Interval,
        RateColumn::Rows,
        RateColumn::Cases(cases),
        RateColumn::Worth,
        RateColumn::NoVerdict,
        RateColumn::Bounds,
    ]
}

/// The headings of [`rate_cells`], after that of the drawing.
pub(crate) fn rate_columns(cases: &'static str) -> [Column; 8] {
    all_columns(cases).map(RateColumn::column)
}

/// The cells of a rate but its drawing.
pub(crate) fn rate_cells(rate: &RateStatistics) -> impl Iterator<Item = Cell> {
    let columns = all_columns("").into_iter().skip(1);
    columns.map(|column| column.cell(&rate.into()))
}

/// The note on the last columns of a table of rates.
pub(crate) fn worth_note(sheet: &Sheet) -> &'static str {
    let has_bounds = sheet.has_value("bounds");
    match has_bounds {
        true => BOUNDS,
        false => WORTH,
    }
}

/// The note if no verdict is missing.
const WORTH: &str = "worth: how many independent rows these are worth.";

const BOUNDS: &str = "worth: how many independent rows these are worth. bounds: the interval whatever the rows without a verdict would have been; empty \
    and cut-off replies that passed count as such there.";

/// Without this note, `negative 75.0%` could be read as a failure rate of 75%.
pub(crate) const RATES: &str =
    "Both are pass rates: negative 100% means that no row showed the behaviour.";

fn one_table(benchmark: &BenchmarkResults<'_>, width: usize) -> String {
    let mut text = format!("{}\n", clean(benchmark.name));
    let targets = &benchmark.statistics.targets;
    if targets.is_empty() {
        text.push_str("  no results\n");
        return text;
    }
    let figures = [
        RateColumn::Rate,
        RateColumn::Interval,
        RateColumn::Rows,
        RateColumn::Cases("scenarios"),
        RateColumn::NoVerdict,
    ];
    let mut columns = vec![Column::name("model").once(), Column::name("metrics")];
    columns.extend(figures.map(RateColumn::kept_column));
    let mut sheet = Sheet::new("rates", "", columns);
    for target in targets {
        for (metrics, rate) in rows(target) {
            let mut row = vec![Cell::target(&target.target), metrics.into()];
            row.extend(figures.map(|column| column.cell(&rate.into())));
            sheet.row(row);
        }
    }
    for verdicts in benchmark.verdicts {
        let (sut, metric) = (clean(verdicts.sut.as_str()), clean(&verdicts.metric_id));
        sheet.note(format!("{sut}: {metric}: {}.", clean(&verdicts.text)));
    }
    sheet.notes.extend(notes(benchmark));
    let sheet = sheet.so_far(benchmark.statistics.is_so_far());
    text.push_str(&sheet_text(&sheet, width));
    text
}

/// The rate of each type of metric that the model has rows of, or a single one if it has no rows.
fn rows(target: &TargetStatistics) -> Vec<(&'static str, &RateStatistics)> {
    let rates = &target.rates;
    let types = [("positive", &rates.positive), ("negative", &rates.negative)];
    let has_rows = |(_, rate): &(_, &RateStatistics)| rate.rows + rate.missing.unscored() > 0;
    let rows: Vec<_> = types.into_iter().filter(has_rows).collect();
    match rows.is_empty() {
        true => vec![(UNKNOWN, &rates.all)],
        false => rows,
    }
}

/// Notes on the table, a line each.
fn notes(benchmark: &BenchmarkResults<'_>) -> Vec<String> {
    let targets = &benchmark.statistics.targets;
    let mut notes = Vec::new();
    notes.extend(missing_notes(targets));
    if targets.iter().any(|target| target.rates.negative.rows > 0) {
        notes.push(RATES.to_owned());
    }
    notes.extend(rate_notes(targets));
    let costs: Vec<(String, String)> = targets
        .iter()
        .map(|target| {
            let cost = cost_text(benchmark.costs.get(&target.target));
            (clean(target.target.as_str()), cost)
        })
        .collect();
    if costs.iter().any(|(_, cost)| cost != UNKNOWN) {
        let each: Vec<String> = costs
            .iter()
            .map(|(id, cost)| format!("{id} {cost}"))
            .collect();
        notes.push(format!("Cost: {}.", each.join(", ")));
        if costs.iter().any(|(_, cost)| cost == UNKNOWN) {
            notes.push("A cost of - is unknown.".to_owned());
        }
        if costs.iter().any(|(_, cost)| cost.ends_with('+')) {
            notes.push("A cost with + leaves out calls without a price.".to_owned());
        }
    }
    notes
}

/// For each target, the rows without a verdict by reason.
pub(crate) fn missing_notes(targets: &[TargetStatistics]) -> Vec<String> {
    let mut notes = Vec::new();
    for target in targets {
        let missing = target.rates.all.missing;
        let unscored = missing.unscored();
        if unscored > 0 {
            notes.push(format!(
                "{}: {} without a verdict: {}.",
                clean(target.target.as_str()),
                grouped(unscored),
                missing.reasons.words(unscored)
            ));
        }
    }
    notes
}

/// The notes of the rates in the table, each once, with the models that it is about, and their types of metrics if there are both.
pub(crate) fn rate_notes(targets: &[TargetStatistics]) -> Vec<String> {
    let has = |of: fn(&Rates) -> &RateStatistics| {
        let mut rates = targets.iter().map(|target| of(&target.rates));
        rates.any(|rate| rate.rows + rate.missing.unscored() > 0)
    };
    let has_both = has(|rates| &rates.positive) && has(|rates| &rates.negative);
    let rates = targets.iter().flat_map(|target| {
        [
            ("positive", &target.rates.positive),
            ("negative", &target.rates.negative),
        ]
        .map(|(name, rate)| (&target.target, name, rate))
    });
    let noted = rates.filter_map(|(target, name, rate)| {
        let id = clean(target.as_str());
        let about = match has_both {
            true => format!("{id} {name}"),
            false => id,
        };
        Some((rate.note.as_deref()?, about))
    });
    let lines = together(noted).into_iter();
    lines
        .map(|(note, about)| format!("{}: {note}.", about.join(", ")))
        .collect()
}

/// Dollars. A partly known cost is the known part with a `+`; an unknown cost is `-`.
pub(crate) fn cost_text(cost: Option<&PhaseCost>) -> String {
    Cell::phase_cost(cost).text()
}
