//! `cost.json`.

use std::path::Path;

use indexmap::IndexMap;
use schema::{Phase, PhaseCost, text::counted};
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

/// What calls used and cost, for people.
pub(crate) fn cost_text(cost: &PhaseCost) -> String {
    let dollars = match (cost.cost, cost.priced_cost) {
        (Some(dollars), _) => format!("{dollars} dollars"),
        (None, Some(priced)) => format!(
            "{priced} dollars and {} without a price",
            counted(cost.unpriced_calls, "call", "calls")
        ),
        (None, None) => "an unknown price".to_owned(),
    };
    format!(
        "{} and {} tokens and {dollars}",
        cost.input_tokens, cost.output_tokens
    )
}
