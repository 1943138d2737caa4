//! `cost.json`.

use std::path::Path;

use indexmap::IndexMap;
use schema::{
    Phase, PhaseCost,
    numbers::{dollars, grouped},
    text::counted,
};
use serde::{Deserialize, Serialize};

use crate::{RunError, write_json};

/// The content of a `cost.json`: one entry for each phase, by the phase's name.
pub type CostFile = IndexMap<String, CostEntry>;

/// One entry of a `cost.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CostEntry {
    /// The phase, as in the key.
    pub phase: String,
    /// What the phase used and cost.
    #[serde(flatten)]
    pub cost: PhaseCost,
}

/// Reads a `cost.json`. A missing or unreadable file counts as empty, because it is written again.
#[must_use]
pub fn read_costs(path: &Path) -> CostFile {
    let Ok(text) = files::read(path) else {
        return CostFile::new();
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "the cost file cannot be read and is rewritten");
        CostFile::new()
    })
}

/// Sets the entry of `phase` in the `cost.json` at `path`; other entries stay.
pub fn write_cost(path: &Path, phase: Phase, cost: PhaseCost) -> Result<(), RunError> {
    let mut costs = read_costs(path);
    let name = phase.as_str().to_owned();
    costs.insert(name.clone(), CostEntry { phase: name, cost });
    costs.sort_by(|a, _, b, _| order(a).cmp(&order(b)));
    write_json(path, &costs)
}

/// Sorts phases in the order in which they run, unknown ones last.
fn order(name: &str) -> usize {
    Phase::ALL
        .iter()
        .position(|phase| phase.as_str() == name)
        .unwrap_or(usize::MAX)
}

/// What two counts of the same calls say they used and cost, for people: dollars to the cent, and exactly where the cents agree.
pub(crate) fn differing_costs(costs: [&PhaseCost; 2]) -> [String; 2] {
    let [one, other] = costs.map(|cost| cost_text(cost, dollars));
    match one == other {
        true => costs.map(|cost| cost_text(cost, |dollars| format!("${dollars}"))),
        false => [one, other],
    }
}

fn cost_text(cost: &PhaseCost, dollars: fn(f64) -> String) -> String {
    let price = match (cost.cost, cost.priced_cost) {
        (Some(all), _) => dollars(all),
        (None, Some(priced)) => format!(
            "{} and {} without a price",
            dollars(priced),
            counted(cost.unpriced_calls, "call", "calls")
        ),
        (None, None) => "an unknown price".to_owned(),
    };
    format!(
        "{} and {} tokens and {price}",
        grouped(cost.input_tokens),
        grouped(cost.output_tokens)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_differ_are_shown_as_different() {
        let cost = |dollars| PhaseCost {
            input_tokens: 12_345,
            output_tokens: 67,
            cost: Some(dollars),
            ..PhaseCost::default()
        };
        assert_eq!(
            differing_costs([&cost(0.123_4), &cost(1_234.5)]),
            [
                "12,345 and 67 tokens and $0.12",
                "12,345 and 67 tokens and $1,234.50"
            ]
        );
        assert_eq!(
            differing_costs([&cost(0.123_4), &cost(0.123_5)]),
            [
                "12,345 and 67 tokens and $0.1234",
                "12,345 and 67 tokens and $0.1235"
            ]
        );
    }
}
