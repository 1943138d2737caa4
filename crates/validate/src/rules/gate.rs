//! `gate.yaml`.

use gate::{GateNames, GateSubject, gate_rules};
use located::{Node, pointer};

use super::BenchmarkFacts;
use crate::checker::Found;

/// All errors for which `gate` refuses the file. In the folder of a benchmark the names of metrics
/// and hazards are known.
pub(crate) fn gate(text: &str, facts: &BenchmarkFacts) -> Vec<Found> {
    // Invalid YAML is already reported.
    let Ok(root) = Node::yaml(text) else {
        return Vec::new();
    };
    let benchmark = facts.benchmark.as_ref();
    let names = GateNames {
        subject: benchmark.map_or(GateSubject::Unknown, |benchmark| {
            GateSubject::Benchmark(Some(benchmark))
        }),
        targets: None,
    };
    let mistakes = gate_rules(&root, names)
        .err()
        .unwrap_or_default()
        .into_iter();
    mistakes
        .map(|mistake| Found::problem(pointer_of(&mistake.key), mistake.reason))
        .collect()
}

/// `/rules/0/require` for `rules[0].require`.
fn pointer_of(key: &str) -> String {
    let parts = key
        .split(['.', '['])
        .map(|part| part.trim_end_matches(']'))
        .filter(|part| !part.is_empty());
    parts.fold(String::new(), |path, part| pointer::key(&path, part))
}
