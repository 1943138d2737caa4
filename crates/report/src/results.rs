//! The rates per model.

use std::collections::BTreeMap;

use schema::{
    ModelId, PhaseCost, SimulatorFaultCounts,
    statistics::{RateStatistics, Rates, Statistics, TargetStatistics},
    text::counted,
};

use crate::{
    numbers::{UNKNOWN, compact_interval, dollars, grouped, interval, percent, worth},
    table::Table,
    text::{clean, wrapped},
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

/// A table per model of each benchmark: the pass rate of each metric with its 95% interval, its number of rows and base scenarios, how
/// many independent rows these are worth, the number of rows without a verdict, and the bounds of the rate whatever those verdicts are.
#[must_use]
pub fn metrics_table(benchmarks: &[BenchmarkResults<'_>], width: usize) -> String {
    let mut tables = Vec::new();
    for benchmark in benchmarks {
        for target in &benchmark.statistics.targets {
            let title = match benchmarks.len() {
                1 => clean(target.target.as_str()),
                _ => clean(&format!("{}: {}", benchmark.name, target.target)),
            };
            tables.push(format!("{title}, by metric\n{}", by_metric(target, width)));
        }
    }
    tables.join("\n")
}

fn by_metric(target: &TargetStatistics, width: usize) -> String {
    let mut table = Table::new(
        1,
        &[
            "metric",
            "rate",
            "95% interval",
            "rows",
            "scenarios",
            "worth",
            "no verdict",
            "bounds",
        ],
    );
    for (metric, rate) in &target.rates.metrics {
        table.row(vec![
            metric.clone(),
            percent(rate.estimate),
            compact_interval(rate.lower.zip(rate.upper)),
            grouped(rate.rows),
            grouped(rate.scenarios),
            rate.effective_rows
                .map_or_else(|| UNKNOWN.to_owned(), worth),
            grouped(rate.missing.unscored()),
            compact_interval(rate.bounds.map(|bounds| (bounds.lower, bounds.upper))),
        ]);
    }
    let mut text = table.render(width);
    text.push_str(&wrapped(BOUNDS, "  ", width));
    text
}

/// The note if no verdict is missing.
pub(crate) const WORTH: &str = "worth: how many independent rows these are worth.";

pub(crate) const BOUNDS: &str = "worth: how many independent rows these are worth. bounds: the interval whatever the missing verdicts would have been; empty and \
    cut-off replies that passed count as missing there.";

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
    let header = [
        "model",
        "metrics",
        "rate",
        "95% interval",
        "rows",
        "scenarios",
        "missing",
    ];
    let mut table = Table::new(2, &header);
    for target in targets {
        for row in rows(target) {
            table.row(row);
        }
    }
    text.push_str(&table.render(width));
    for verdicts in benchmark.verdicts {
        let (sut, metric) = (clean(verdicts.sut.as_str()), clean(&verdicts.metric_id));
        let note = format!("{sut}: {metric}: {}.", clean(&verdicts.text));
        text.push_str(&wrapped(&note, "  ", width));
    }
    for note in notes(benchmark) {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

/// A line for each type of metric that the model has rows of, or a single line if it has no rows.
fn rows(target: &TargetStatistics) -> Vec<Vec<String>> {
    let rates = &target.rates;
    let types = [("positive", &rates.positive), ("negative", &rates.negative)];
    let mut rows = Vec::new();
    for (name, rate) in types {
        if rate.rows + rate.missing.unscored() > 0 {
            let model = if rows.is_empty() {
                target.target.as_str()
            } else {
                ""
            };
            rows.push(row(model, name, rate));
        }
    }
    if rows.is_empty() {
        rows.push(row(target.target.as_str(), UNKNOWN, &rates.all));
    }
    rows
}

fn row(model: &str, metrics: &str, rate: &RateStatistics) -> Vec<String> {
    vec![
        model.to_owned(),
        metrics.to_owned(),
        percent(rate.estimate),
        interval(rate.lower.zip(rate.upper)),
        grouped(rate.rows),
        grouped(rate.scenarios),
        grouped(rate.missing.unscored()),
    ]
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
    let costs = targets.iter().map(|target| {
        let cost = cost_text(benchmark.costs.get(&target.target));
        (clean(target.target.as_str()), cost)
    });
    let costs: Vec<(String, String)> = costs.collect();
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

/// For each target, the rows without a verdict by reason, and how often the simulated user fell out of its role.
pub(crate) fn missing_notes(targets: &[TargetStatistics]) -> Vec<String> {
    let mut notes = Vec::new();
    for target in targets {
        let missing = target.rates.all.missing;
        let unscored = missing.unscored();
        if unscored > 0 {
            notes.push(format!(
                "{}: {unscored} without a verdict: {}.",
                clean(target.target.as_str()),
                missing.reasons.words(unscored)
            ));
        }
    }
    notes.extend(targets.iter().filter_map(simulator_note));
    notes.extend(targets.iter().filter_map(sample_note));
    notes
}

/// How often the simulated user fell out of its role; `None` where it never did.
fn simulator_note(target: &TargetStatistics) -> Option<String> {
    let simulator = target.simulator.as_ref()?;
    if simulator.faults.is_empty() {
        return None;
    }
    let kinds = |count: fn(&SimulatorFaultCounts) -> u64| {
        let faults = simulator.faults.iter();
        let some = faults.filter(|(_, counts)| count(counts) > 0);
        let each = some.map(|(kind, counts)| format!("{} {}", kind.in_words(), count(counts)));
        each.collect::<Vec<_>>().join(", ")
    };
    let mended = match (simulator.mended, simulator.faulty) {
        (0, _) => String::new(),
        (n, 0) => format!("{n} ({}), mended by a retry", kinds(|counts| counts.mended)),
        (n, _) => format!("; mended by a retry in {n} more"),
    };
    let faulty = match simulator.faulty {
        0 => String::new(),
        n => format!(
            "{n} ({}), which have no verdict",
            kinds(|counts| counts.faulty)
        ),
    };
    Some(format!(
        "{}: the simulated user fell out of its role in {faulty}{mended}, of {}.",
        clean(target.target.as_str()),
        counted(simulator.conversations, "conversation", "conversations")
    ))
}

/// What a judge found in a sample of the conversations; `None` without one.
fn sample_note(target: &TargetStatistics) -> Option<String> {
    let sample = target.simulator.as_ref()?.sample.as_ref()?;
    let rate = &sample.faulty;
    let id = clean(target.target.as_str());
    let unanswered = match rate.missing.unscored() {
        0 => String::new(),
        n => format!(" {n} more had no answer."),
    };
    if rate.rows == 0 {
        return Some(format!(
            "{id}: the judge of the simulated user gave no answer about a sample of {}.",
            counted(rate.missing.unscored(), "conversation", "conversations")
        ));
    }
    let kinds = sample.faults.iter();
    let kinds = kinds.map(|(kind, count)| format!("{} {count}", kind.in_words()));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let kinds = match kinds.is_empty() {
        true => kinds,
        false => format!(" ({kinds})"),
    };
    Some(format!(
        "{id}: a judge read a sample of {}; the simulated user fell out of its role in {}{kinds}: {}, 95% interval {}. No verdict is removed.{unanswered}",
        counted(rate.rows, "conversation", "conversations"),
        rate.passed,
        percent(rate.estimate),
        compact_interval(rate.lower.zip(rate.upper)),
    ))
}

/// The notes of the rates in the table, each once, with the models that it is about, and their types of metrics if there are both.
pub(crate) fn rate_notes(targets: &[TargetStatistics]) -> Vec<String> {
    let has = |of: fn(&Rates) -> &RateStatistics| {
        let rates = targets.iter().map(|target| of(&target.rates));
        rates
            .map(|rate| rate.rows + rate.missing.unscored())
            .sum::<u64>()
            > 0
    };
    let has_both = has(|rates| &rates.positive) && has(|rates| &rates.negative);
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for target in targets {
        let rates = &target.rates;
        for (name, rate) in [("positive", &rates.positive), ("negative", &rates.negative)] {
            let Some(note) = rate.note.as_deref() else {
                continue;
            };
            let id = clean(target.target.as_str());
            let about = match has_both {
                true => format!("{id} {name}"),
                false => id,
            };
            match found.iter_mut().find(|(known, _)| *known == note) {
                Some((_, all)) => all.push(about),
                None => found.push((note, vec![about])),
            }
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(note, about)| format!("{}: {note}.", about.join(", ")))
        .collect()
}

/// Dollars. A partly known cost is the known part with a `+`; an unknown cost is `-`.
pub(crate) fn cost_text(cost: Option<&PhaseCost>) -> String {
    match cost.map(|cost| (cost.cost, cost.priced_cost)) {
        Some((Some(all), _)) => dollars(all),
        Some((None, Some(part))) if part > 0.0 => format!("{}+", dollars(part)),
        _ => UNKNOWN.to_owned(),
    }
}
