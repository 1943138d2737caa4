//! The rates per model.

use std::collections::BTreeMap;

use schema::{IncompleteReplies, MetricType, ModelId, PhaseCost, Rate, Summary, text::counted};

use crate::{
    numbers::{UNKNOWN, dollars, percent},
    table::Table,
    text::{clean, wrapped},
};

/// The results of one benchmark.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkResults<'a> {
    /// The benchmark's name.
    pub name: &'a str,
    /// One summary per model, in the order to show them.
    pub summaries: &'a [Summary],
    /// The types of the benchmark's metrics by id. They tell how many rows a rate counts.
    pub metric_types: &'a BTreeMap<String, MetricType>,
    /// What each model's conversations and their judging cost. A model that is not there has an unknown cost.
    pub costs: &'a BTreeMap<ModelId, PhaseCost>,
    /// How many conversations of each model hold empty or cut-off replies. A line below the table reports each that has any.
    pub replies: &'a [IncompleteReplies],
}

/// A table per benchmark: the pass rates of positive and negative metrics, each with the rows that passed of those it counts, all rows,
/// the rows without a verdict (unscored), and the cost, for each model.
///
/// A line below the table says what a high rate of negative metrics means, where there is one. A rate without rows is `-`,
/// never 0. An unknown cost is `-`; where a part of it is known, that part with a `+`, and a line below says so. `width` is
/// that of the terminal; the table is wider only where its numbers need it.
#[must_use]
pub fn results_table(benchmarks: &[BenchmarkResults<'_>], width: usize) -> String {
    let tables: Vec<String> = benchmarks
        .iter()
        .map(|benchmark| one_table(benchmark, width))
        .collect();
    tables.join("\n")
}

/// `negative 75.0%` alone reads like 75% that went wrong.
const RATES: &str = "Both are pass rates: negative 100% means that no row showed the behaviour.";

fn one_table(benchmark: &BenchmarkResults<'_>, width: usize) -> String {
    let mut text = format!("{}\n", clean(benchmark.name));
    if benchmark.summaries.is_empty() {
        text.push_str("  no results\n");
        return text;
    }
    let header = ["model", "positive", "negative", "rows", "unscored", "cost"];
    let mut table = Table::new(1, &header);
    let mut costs = Vec::new();
    for summary in benchmark.summaries {
        let cost = cost_text(benchmark.costs.get(&summary.target_model));
        table.row(vec![
            summary.target_model.to_string(),
            rate_text(summary, MetricType::Positive, benchmark.metric_types),
            rate_text(summary, MetricType::Negative, benchmark.metric_types),
            summary.n_total.to_string(),
            unscored(summary).to_string(),
            cost.clone(),
        ]);
        costs.push(cost);
    }
    text.push_str(&table.render(width));
    for replies in benchmark.replies.iter().filter(|all| all.incomplete > 0) {
        let note = format!(
            "{}: {} of {} hold an empty or cut-off reply.",
            clean(replies.sut.as_str()),
            replies.incomplete,
            counted(replies.conversations, "conversation", "conversations")
        );
        text.push_str(&wrapped(&note, "  ", width));
    }
    let negative = |summary: &Summary| summary.negative_pass_rate.is_some();
    if benchmark.summaries.iter().any(negative) {
        text.push_str(&wrapped(RATES, "  ", width));
    }
    if costs.iter().any(|cost| cost == UNKNOWN) {
        text.push_str(&wrapped("A cost of - is unknown.", "  ", width));
    }
    if costs.iter().any(|cost| cost.ends_with('+')) {
        let note = "A cost with + leaves out calls without a price.";
        text.push_str(&wrapped(note, "  ", width));
    }
    text
}

/// `75.0% (3/4)`. The counts are left out where the metrics do not give them: rows of a metric that the benchmark no longer has.
fn rate_text(
    summary: &Summary,
    of: MetricType,
    metric_types: &BTreeMap<String, MetricType>,
) -> String {
    let rates = summary.by_metric.iter();
    let rates = rates.filter(|(id, _)| metric_types.get(*id) == Some(&of));
    let (passed, scored) = rates.fold((0, 0), |(passed, scored), (_, rate)| {
        (passed + rate.n_passed, scored + rate.n_total)
    });
    let rate = summary.pass_rate(of);
    match rate.is_some() && Rate::new(passed, scored).pass_rate == rate {
        true => format!("{} ({passed}/{scored})", percent(rate)),
        false => percent(rate),
    }
}

/// Rows without a verdict: all rows but those that the metrics' rates count.
fn unscored(summary: &Summary) -> u64 {
    let scored = summary.by_metric.values().map(|rate| rate.n_total).sum();
    summary.n_total.saturating_sub(scored)
}

/// Dollars; the known part with a `+`, and `-` where nothing is known.
pub(crate) fn cost_text(cost: Option<&PhaseCost>) -> String {
    match cost.map(|cost| (cost.cost, cost.priced_cost)) {
        Some((Some(all), _)) => dollars(all),
        Some((None, Some(part))) if part > 0.0 => format!("{}+", dollars(part)),
        _ => UNKNOWN.to_owned(),
    }
}
