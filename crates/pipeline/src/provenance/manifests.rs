//! What the manifests of earlier runs tell of targets that have no record of their own.

use std::{collections::BTreeMap, fs};

use schema::ModelId;
use serde::Deserialize;
use serde_json::Value;

use super::{
    FileProvenance, TargetProvenance, evaluator_settings, simulator_settings, target_settings,
};
use crate::layout::Layout;

/// How many manifests are looked through, the newest first.
const RECORDS: usize = 300;

/// By target, the settings of the newest runs that simulated and judged its conversations.
pub(super) fn of_targets(
    layout: &Layout,
    benchmark: &str,
    targets: &[&ModelId],
) -> BTreeMap<String, TargetProvenance> {
    let mut found: BTreeMap<String, TargetProvenance> = BTreeMap::new();
    for manifest in manifests(layout) {
        let Some(result) = manifest.results.get(benchmark) else {
            continue;
        };
        for count in &result.counts {
            let id = count.target.as_deref().unwrap_or_default();
            if count.rows.done == 0 || !targets.iter().any(|target| target.as_str() == id) {
                continue;
            }
            let known = found.entry(id.to_owned()).or_default();
            match count.phase.as_str() {
                "simulate" if known.conversations.is_none() => {
                    known.conversations = Some(manifest.simulated(result, id));
                }
                "evaluate" if known.scores.is_none() => {
                    known.scores = Some(manifest.judged(result));
                }
                _ => {}
            }
        }
    }
    for known in found.values_mut() {
        known.judged = known.conversations.clone();
    }
    found
}

/// The newest manifests, the newest first. What cannot be read is passed over.
fn manifests(layout: &Layout) -> impl Iterator<Item = Manifest> {
    let folder = layout.run("");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    // Their names begin with the time.
    runs.sort();
    runs.into_iter().rev().take(RECORDS).filter_map(move |run| {
        let text = fs::read(folder.join(run).join("manifest.json")).ok()?;
        serde_json::from_slice(&text).ok()
    })
}

/// The part of a manifest that tells how conversations were simulated and judged.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    run_id: String,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    results: BTreeMap<String, Results>,
}

impl Manifest {
    fn simulated(&self, result: &Results, target: &str) -> FileProvenance {
        let key = format!("simulator:{target}");
        let fingerprint = result.fingerprints.get(&key).cloned().unwrap_or_default();
        let generation = &self.config["generation"];
        let samples = generation["num_samples"].as_u64();
        let mut settings =
            simulator_settings(&fingerprint, &self.config, samples, &BTreeMap::new());
        let turns = &generation["turns"];
        if !turns.is_null() {
            settings.entry("turns".to_owned()).or_insert(turns.clone());
        }
        FileProvenance {
            run_id: self.run_id.clone(),
            sha256: None,
            settings,
            target: target_settings(&self.config, target),
        }
    }

    fn judged(&self, result: &Results) -> FileProvenance {
        let fingerprint = result.fingerprints.get("evaluator").cloned();
        FileProvenance {
            run_id: self.run_id.clone(),
            settings: evaluator_settings(&fingerprint.unwrap_or_default(), &self.config),
            ..FileProvenance::default()
        }
    }
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    fingerprints: BTreeMap<String, Value>,
    #[serde(default)]
    counts: Vec<Count>,
}

#[derive(Deserialize)]
struct Count {
    phase: String,
    target: Option<String>,
    rows: Rows,
}

#[derive(Deserialize)]
struct Rows {
    #[serde(default)]
    done: u64,
}
