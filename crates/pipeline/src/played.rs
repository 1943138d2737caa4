//! With which settings the conversations of a tree were played, as the records of earlier runs tell it.

use std::{collections::BTreeMap, fs};

use schema::ModelId;
use serde::Deserialize;
use serde_json::Value;

use crate::layout::Layout;

/// How many records are looked through, the newest first.
const RECORDS: usize = 300;

/// With which settings the conversations of a target were played. `None`: its record does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlayedWith {
    /// Exchanges at most.
    pub turns: Option<u32>,
    /// Conversations for each scenario.
    pub samples: Option<u32>,
}

/// By target, the settings of the newest run that played conversations of `benchmark` against it, from the manifests under
/// `.probity/runs`. A target that no manifest tells of is not in here: its conversations were imported, or the records are gone.
#[must_use]
pub fn played_with(layout: &Layout, benchmark: &str) -> BTreeMap<ModelId, PlayedWith> {
    let mut found = BTreeMap::new();
    for record in records(layout) {
        let Some(result) = record.results.get(benchmark) else {
            continue;
        };
        for count in &result.counts {
            if count.phase != "simulate" || count.rows.done == 0 {
                continue;
            }
            let Some(id) = count.target.as_deref().and_then(|id| ModelId::new(id).ok()) else {
                continue;
            };
            found.entry(id.clone()).or_insert_with(|| {
                let own = result.fingerprints.get(&format!("simulator:{id}"));
                let turns = own.and_then(|own| own.pointer("/settings/turns"));
                let turns = turns.or_else(|| record.config.pointer("/generation/turns"));
                PlayedWith {
                    turns: turns.and_then(number),
                    samples: record
                        .config
                        .pointer("/generation/num_samples")
                        .and_then(number),
                }
            });
        }
    }
    found
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|n| n.try_into().ok())
}

/// The manifests of the newest runs, the newest first. What cannot be read is passed over.
fn records(layout: &Layout) -> impl Iterator<Item = Record> {
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

/// The part of a manifest that tells how conversations were played.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    config: Value,
    #[serde(default)]
    results: BTreeMap<String, Results>,
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
