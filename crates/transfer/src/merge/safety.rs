//! Parts of safety evaluations: their replies and journals are joined, and an evaluation of all cases makes the result files of them.

use std::collections::{BTreeMap, BTreeSet};

use schema::Shard;
use serde_json::{Value, json};
use store::{Manifest, RunError};

use super::{
    alike::{first_difference, values},
    input::Inputs,
    records::run_folders,
};

/// The parts of a safety evaluation that were merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedSafety {
    /// `safety_single_turn` or `safety_multi_turn`.
    pub kind: String,
    /// The parts, in ascending order.
    pub parts: BTreeSet<u32>,
    /// How many parts there are.
    pub of: u32,
    /// The parts whose cases were not all run.
    pub cut_off: BTreeSet<u32>,
}

impl MergedSafety {
    /// Whether all cases were run.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.parts.len() as u64 == u64::from(self.of) && self.cut_off.is_empty()
    }

    /// The parts that were not run, or not to their end.
    pub fn lacking(&self) -> impl Iterator<Item = u32> + '_ {
        let all = 1..=self.of.min(Shard::MOST);
        all.filter(|part| !self.parts.contains(part) || self.cut_off.contains(part))
    }
}

/// The newest run of each kind in a folder, by its manifest.
fn newest(inputs: &Inputs, number: usize) -> BTreeMap<String, (Shard, Manifest)> {
    let mut found = BTreeMap::new();
    let folders = inputs
        .all
        .get(number)
        .map(|input| run_folders(&input.layout));
    for folder in folders.into_iter().flatten() {
        let manifest = Manifest::read(&folder).filter(|manifest| manifest.safety.is_some());
        if let Some(manifest) = manifest
            && let (Some(shard), Some(kind)) = (manifest.shard, manifest.phases.first())
        {
            found.insert(kind.clone(), (shard, manifest.clone()));
        }
    }
    found
}

/// What has to be the same in all parts.
fn setup(shard: Shard, manifest: &Manifest) -> Value {
    let config = json!(manifest.config);
    json!({
        "parts": shard.of,
        "safety": manifest.safety,
        "targets": manifest.targets,
        "config": {
            "targets": config["targets"],
            "user_model": config["user_model"],
            "evaluator_model": config["evaluator_model"],
            "safety": config["safety"],
        },
    })
}

/// The parts of safety evaluations in the folders.
///
/// # Errors
/// When two parts have other cases, models, judges or settings.
pub(super) fn find(inputs: &Inputs) -> Result<Vec<MergedSafety>, RunError> {
    let mut first: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    let mut merged: BTreeMap<String, MergedSafety> = BTreeMap::new();
    for number in 0..inputs.all.len() {
        for (kind, (shard, manifest)) in newest(inputs, number) {
            let setup = setup(shard, &manifest);
            let (before, known) = first
                .entry(kind.clone())
                .or_insert_with(|| (number, setup.clone()));
            if let Some((key, one, two)) = first_difference(known, &setup, "") {
                let folder = |number: usize| {
                    let input = inputs.all.get(number);
                    input.map_or_else(String::new, |input| input.folder.display().to_string())
                };
                return Err(RunError::input(format!(
                    "{kind}: {} and {} do not belong together: {}",
                    folder(*before),
                    folder(number),
                    values(&key, &one, &two)
                )));
            }
            let of_kind = merged.entry(kind.clone()).or_insert_with(|| MergedSafety {
                kind,
                parts: BTreeSet::new(),
                of: shard.of,
                cut_off: BTreeSet::new(),
            });
            of_kind.parts.insert(shard.part);
            let has_ended = manifest
                .outcome
                .is_some_and(|outcome| outcome != "interrupted");
            if !has_ended {
                of_kind.cut_off.insert(shard.part);
            }
        }
    }
    Ok(merged.into_values().collect())
}
