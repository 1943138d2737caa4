//! `sequence.json`: the order of a benchmark whose runs stop when its rules are decided.

mod baseline_units;
mod begin;
mod open_test;
mod rule_tests;

use std::collections::{BTreeMap, BTreeSet};

use aggregator::statistics::{ScenarioSequence, SequencedBase};
use indexmap::IndexMap;
use schema::{
    Benchmark, Scenario, base_scenario_id, gate::GateRules, sequence::Sequence, text::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{BenchmarkDir, RunError, write_json};

pub use baseline_units::BaselineUnits;
pub use begin::{SequenceOptions, begin_sequence};
pub use rule_tests::{
    SequenceQuestions, SequenceRules, SequenceTests, SequencedVerdict, Turn, WidthQuestion,
};

/// Reads the `sequence.json` of a benchmark; `None` without one.
///
/// # Errors
/// When the file cannot be read, is of a later format or method, or is not a sequence.
pub fn read_sequence(dir: &BenchmarkDir) -> Result<Option<Sequence>, RunError> {
    let path = dir.sequence();
    let text = match files::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RunError::read(&path, error)),
    };
    let bad = |what: String| RunError::in_file(&path, None, what);
    let sequence: Sequence = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("not a sequence: {error}")).with_source(error))?;
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(&sequence.format) != major(Sequence::FORMAT) || sequence.method != Sequence::METHOD {
        return Err(bad(format!(
            "format is {:?} and method {:?}, and this version of Probity reads {} and {}",
            sequence.format,
            sequence.method,
            Sequence::FORMAT,
            Sequence::METHOD
        )));
    }
    Ok(Some(sequence))
}

/// Writes the `sequence.json` of a benchmark.
///
/// # Errors
/// When the file cannot be written.
pub fn write_sequence(dir: &BenchmarkDir, sequence: &Sequence) -> Result<(), RunError> {
    write_json(&dir.sequence(), sequence)
}

/// The order of a `sequence.json`, with what the benchmark's scenarios plan of each base scenario.
#[must_use]
pub fn scenario_sequence(
    sequence: &Sequence,
    benchmark: &Benchmark,
    scenarios: &[Scenario],
) -> ScenarioSequence {
    let mut planned = planned_bases(benchmark, scenarios.iter());
    let order = sequence.order.iter().map(|scenario| SequencedBase {
        id: scenario.id.clone(),
        scenarios: planned
            .swap_remove(&scenario.id)
            .map(|base| base.scenarios)
            .unwrap_or_default(),
    });
    ScenarioSequence {
        order: order.collect(),
        metrics: benchmark
            .metrics
            .iter()
            .map(|metric| (metric.id.clone(), metric.metric_type))
            .collect(),
        samples: u64::from(sequence.samples),
        single: BTreeSet::new(),
        lists: sequence
            .lists
            .iter()
            .map(|list| (list.from, list.scenarios))
            .collect(),
        pairs: sequence.pairs,
        width: sequence.width,
        stopped: sequence.stopped,
        stopped_targets: sequence.stopped_targets(),
    }
}

/// SHA-256 of what rules say, whatever their file looks like.
#[must_use]
pub fn gate_rules_sha256(rules: &GateRules) -> String {
    let each = rules.rules.iter().map(|rule| {
        let targets: Vec<String> = rule.targets.iter().map(ToString::to_string).collect();
        json!([rule.scope.to_string(), rule.require.to_string(), targets])
    });
    let text = json!([rules.max_missing, rules.baseline, each.collect::<Vec<_>>()]);
    hex(&Sha256::digest(text.to_string()))
}

/// The base scenario of a scenario.
#[must_use]
pub fn base_of(scenario: &Scenario) -> &str {
    let known = scenario.extra.get("base_scenario_id");
    base_scenario_id(&scenario.id, known.and_then(Value::as_str))
}

/// What is planned of a base scenario.
#[derive(Default)]
struct PlannedBase {
    /// Its scenarios, by metric.
    scenarios: BTreeMap<String, u64>,
    hash: Sha256,
}

impl PlannedBase {
    fn sha256(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

/// The base scenarios of the benchmark's metrics, in the order of the file.
fn planned_bases<'a>(
    benchmark: &Benchmark,
    scenarios: impl Iterator<Item = &'a Scenario>,
) -> IndexMap<String, PlannedBase> {
    let mut bases: IndexMap<String, PlannedBase> = IndexMap::new();
    for scenario in scenarios.filter(|row| benchmark.metric(&row.metric_id).is_some()) {
        let base = base_of(scenario).to_owned();
        let planned = bases.entry(base).or_default();
        *planned
            .scenarios
            .entry(scenario.metric_id.clone())
            .or_default() += 1;
        // A row always serialises.
        planned
            .hash
            .update(serde_json::to_vec(scenario).unwrap_or_default());
    }
    bases
}
