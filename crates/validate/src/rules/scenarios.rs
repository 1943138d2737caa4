//! The rules of `scenarios.json`.

use schema::Benchmark;
use serde_json::Value;

use super::{BenchmarkFacts, Once, benchmark::meant};
use crate::checker::Found;

/// Looks at the rows one after the other.
pub(crate) struct ScenarioRules<'f> {
    facts: &'f BenchmarkFacts,
    seen: Once,
    rows: u64,
    fitting: u64,
}

impl<'f> ScenarioRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            facts,
            seen: Once::default(),
            rows: 0,
            fitting: 0,
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let mut found = Vec::new();
        self.rows += 1;
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        if let Some(id) = text("id") {
            if id.trim().is_empty() || id.chars().any(char::is_control) {
                found.push(Found::problem(
                    "/id",
                    "the id is blank or holds a control character",
                ));
            } else if let Some(first) = self.seen.take(id, line) {
                found.push(Found::problem(
                    "/id",
                    format!("{id:?} is in line {first} already. Ids must be unique"),
                ));
            }
        }
        let Some(benchmark) = &self.facts.benchmark else {
            return found;
        };
        if let Some(id) = text("metric_id").filter(|_| !benchmark.metrics.is_empty()) {
            match benchmark.metric(id) {
                None => found.push(unknown_metric(id, text("metric_name"), benchmark)),
                Some(metric) => {
                    self.fitting += 1;
                    let ours = metric.metric_type.as_str();
                    if text("metric_type").is_some_and(|theirs| theirs != ours) {
                        found.push(Found::note(
                            "/metric_type",
                            format!("the metric {id:?} of benchmark.yaml is {ours}"),
                        ));
                    }
                }
            }
        }
        let names = row.get("tools").and_then(Value::as_array);
        for (index, name) in names.into_iter().flatten().enumerate() {
            let known: Vec<&str> = benchmark
                .tools
                .iter()
                .map(|tool| tool.name.as_str())
                .collect();
            if let Some(name) = name.as_str()
                && !known.contains(&name)
            {
                found.push(Found::problem(
                    format!("/tools/{index}"),
                    format!("benchmark.yaml has no tool {name:?}{}", meant(name, &known)),
                ));
            }
        }
        found
    }

    /// What can be said at the end, and the ids.
    pub(crate) fn finish(self) -> (Option<String>, std::collections::HashSet<String>) {
        let has_metrics = self
            .facts
            .benchmark
            .as_ref()
            .is_some_and(|benchmark| !benchmark.metrics.is_empty());
        let foreign = (has_metrics && self.rows > 0 && self.fitting == 0).then(|| {
            "no row fits a metric of benchmark.yaml: these scenarios belong to another benchmark. Restore the right file, or replace \
             the scenarios with `gen-scenarios --force`"
                .to_owned()
        });
        (foreign, self.seen.into_ids())
    }
}

/// A row of a metric that the benchmark does not have. That of a metric which was removed is no mistake: its name is nobody's now.
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
