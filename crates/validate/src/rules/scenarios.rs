//! The rules of `scenarios.json`: errors for which a run refuses it, and rows that a run skips.

use std::collections::HashSet;

use schema::{Benchmark, Scenario};
use serde::Deserialize;
use serde_json::Value;

use super::{
    BenchmarkFacts,
    benchmark::{found, meant},
};
use crate::{Finding, checker::Found};

/// Checks the rows one after the other.
pub(crate) struct ScenarioRules<'f> {
    facts: &'f BenchmarkFacts,
    rules: store::ScenarioRules<'f>,
    rows: u64,
}

impl<'f> ScenarioRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            facts,
            rules: store::ScenarioRules::new(facts.benchmark.as_ref()),
            rows: 0,
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let row = match Scenario::deserialize(row) {
            Ok(row) => row,
            Err(error) => return vec![Found::problem("", error.to_string())],
        };
        self.rows += 1;
        let mut all: Vec<Found> = self.rules.row(&row, line).iter().map(found).collect();
        all.extend(blank_base(&row));
        let benchmark = self.facts.benchmark.as_ref();
        if let Some(benchmark) = benchmark.filter(|benchmark| !benchmark.metrics.is_empty()) {
            all.extend(check_metric(&row, benchmark));
        }
        all
    }

    /// Why these are the scenarios of another benchmark; called after all `rows`. `None` if some rows could not be read.
    pub(crate) fn foreign(&self, rows: u64) -> Option<Finding> {
        let broken = self.rules.finish().filter(|_| self.rows == rows)?;
        let help = self.facts.dir.as_ref().map(store::help_foreign_scenarios);
        Some(Finding::problem("", broken.to_string()).with_help(help))
    }

    pub(crate) fn into_ids(self) -> HashSet<String> {
        self.rules.into_ids()
    }
}

fn blank_base(row: &Scenario) -> Option<Found> {
    let base = row.extra.get("base_scenario_id")?.as_str()?;
    base.trim().is_empty().then(|| {
        let reason = "it is blank: the base scenario is taken from `id`";
        Found::note("/base_scenario_id", reason)
    })
}

/// A metric that a run skips, or uses with another type than the row's.
fn check_metric(row: &Scenario, benchmark: &Benchmark) -> Option<Found> {
    let id = &row.metric_id;
    let Some(metric) = benchmark.metric(id) else {
        return Some(unknown_metric(id, row.metric_name.as_deref(), benchmark));
    };
    let differs = row
        .metric_type
        .is_some_and(|theirs| theirs != metric.metric_type);
    differs.then(|| {
        let ours = metric.metric_type.as_str();
        let reason = format!("the metric {id:?} of benchmark.yaml is {ours}");
        Found::note("/metric_type", reason)
    })
}

/// A row with an unknown metric. If the metric was removed, the row is not a mistake: no metric has its name any more.
fn unknown_metric(id: &str, name: Option<&str>, benchmark: &Benchmark) -> Found {
    let metrics = &benchmark.metrics;
    let same_name = name.and_then(|name| metrics.iter().find(|metric| metric.name == name));
    let unused = "the row is not used: benchmark.yaml has no metric";
    match (same_name, name) {
        (Some(metric), _) => {
            let reason = format!("{unused} {id:?}; did you mean {:?}?", metric.id);
            Found::problem("/metric_id", reason)
        }
        (None, Some(_)) => Found::note("/metric_id", format!("{unused} {id:?}")),
        (None, None) => {
            let ids: Vec<&str> = metrics.iter().map(|metric| metric.id.as_str()).collect();
            let reason = format!("{unused} {id:?}{}", meant(id, &ids));
            Found::problem("/metric_id", reason)
        }
    }
}
