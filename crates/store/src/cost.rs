//! `cost.json`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use indexmap::IndexMap;
use schema::{
    ModelId, Phase, PhaseCost,
    numbers::{dollars, grouped},
    text::counted,
};
use serde::{Deserialize, Serialize};

use crate::{BenchmarkDir, RunError, tree::FileVersion, write_json};

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

/// Reads the `cost.json` of `target`, or that of the generating phases. The file is read once, as long as it stays the same. A missing or
/// unreadable file counts as empty, because it is written again.
#[must_use]
pub fn read_costs(dir: &BenchmarkDir, target: Option<&ModelId>) -> Arc<CostFile> {
    let read = |path: PathBuf| dir.memory().costs.get_or_read(&path, || read_file(&path));
    let known = cost_path(dir, target).ok().and_then(|path| read(path).ok());
    known.unwrap_or_default()
}

/// `Err` if there is no such file.
fn read_file(path: &Path) -> std::io::Result<Arc<CostFile>> {
    let text = files::read(path)?;
    let costs = serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "the cost file cannot be read and is rewritten");
        CostFile::new()
    });
    Ok(Arc::new(costs))
}

fn cost_path(dir: &BenchmarkDir, target: Option<&ModelId>) -> Result<PathBuf, RunError> {
    Ok(match target {
        Some(target) => dir.target(target)?.cost(),
        None => dir.cost(),
    })
}

/// Sets the entry of `phase` in the `cost.json` of `target`, or in that of the generating phases; other entries stay.
///
/// # Errors
/// When the file cannot be written, or the target's id cannot name a folder.
pub fn write_cost(
    dir: &BenchmarkDir,
    target: Option<&ModelId>,
    phase: Phase,
    cost: PhaseCost,
) -> Result<(), RunError> {
    let path = cost_path(dir, target)?;
    let mut costs = Arc::unwrap_or_clone(read_costs(dir, target));
    let name = phase.as_str().to_owned();
    costs.insert(name.clone(), CostEntry { phase: name, cost });
    costs.sort_by(|a, _, b, _| order(a).cmp(&order(b)));
    write_json(&path, &costs)?;
    let version = FileVersion::now(&path);
    dir.memory().costs.set(&path, version, Arc::new(costs));
    Ok(())
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
    let caches = match (cost.cached_input_tokens, cost.cache_write_tokens) {
        (0, 0) => String::new(),
        (read, written) => format!(
            " ({} read from and {} written to prompt caches)",
            grouped(read),
            grouped(written)
        ),
    };
    format!(
        "{} and {} tokens{caches} and {price}",
        grouped(cost.input_tokens),
        grouped(cost.output_tokens)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn costs_are_those_of_the_present_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Layout::new(folder.path()).benchmark("b").unwrap();
        let target = ModelId::new("a").unwrap();
        let cost = |tokens| PhaseCost {
            input_tokens: tokens,
            ..PhaseCost::default()
        };
        let tokens = |dir: &BenchmarkDir| {
            let costs = read_costs(dir, Some(&target));
            costs.values().map(|entry| entry.cost.input_tokens).sum()
        };
        let sum: u64 = tokens(&dir);
        assert_eq!(sum, 0);
        write_cost(&dir, Some(&target), Phase::Evaluate, cost(5)).unwrap();
        write_cost(&dir, Some(&target), Phase::Simulate, cost(2)).unwrap();
        assert_eq!(tokens(&dir), 7);
        assert!(read_costs(&dir, None).is_empty());
        // Another program replaces the file.
        let path = dir.target(&target).unwrap().cost();
        let text = files::read_text(&path).unwrap();
        std::fs::write(
            &path,
            text.replace("\"input_tokens\": 5", "\"input_tokens\": 50"),
        )
        .unwrap();
        assert_eq!(tokens(&dir), 52);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(tokens(&dir), 0);
    }

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
