//! The manifests of earlier runs: who wrote what, and how targets were measured that have no record of their own.

use std::{collections::BTreeMap, fs};

use schema::ModelId;
use serde::Deserialize;
use serde_json::Value;

use super::{
    FileProvenance, TargetProvenance, evaluator_settings, simulator_settings, target_settings,
};
use crate::Layout;

/// How many manifests are looked through, the newest first.
const RECORDS: usize = 300;

/// By target, the settings of the newest runs that simulated and judged its conversations.
pub(super) fn of_targets(
    layout: &Layout,
    benchmark: &str,
    targets: &[&ModelId],
) -> BTreeMap<String, TargetProvenance> {
    let mut found: BTreeMap<String, TargetProvenance> = BTreeMap::new();
    for run in earlier_runs(layout) {
        for (phase, target) in run.finished_phases(benchmark) {
            let id = target.unwrap_or_default();
            if !targets.iter().any(|target| target.as_str() == id) {
                continue;
            }
            let known = found.entry(id.to_owned()).or_default();
            match phase {
                "simulate" if known.conversations.is_none() => {
                    known.conversations = Some(run.simulated(benchmark, id));
                }
                "evaluate" if known.scores.is_none() => {
                    known.scores = Some(run.judged(benchmark));
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

/// Reads the manifests of the latest 300 runs, the newest first. Those that cannot be read are passed over.
pub fn earlier_runs(layout: &Layout) -> impl Iterator<Item = EarlierRun> {
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

/// The parts of an earlier run's manifest that tell who wrote what, and under which settings.
#[derive(Clone, Debug, Deserialize)]
pub struct EarlierRun {
    /// The run's id.
    #[serde(default)]
    pub run_id: String,
    /// The resolved configuration, without secrets. Null where the manifest has none.
    #[serde(default)]
    pub config: Value,
    /// By benchmark.
    #[serde(default)]
    results: BTreeMap<String, Results>,
}

impl EarlierRun {
    /// The phases of `benchmark` in which the run finished at least one row, each with its target where it has one.
    pub fn finished_phases(
        &self,
        benchmark: &str,
    ) -> impl Iterator<Item = (&str, Option<&str>)> + use<'_> {
        let results = self.results.get(benchmark).into_iter();
        let counts = results.flat_map(|results| &results.counts);
        counts
            .filter(|count| count.rows.done > 0)
            .map(|count| (count.phase.as_str(), count.target.as_deref()))
    }

    /// The fingerprint of a phase, null where there is none.
    fn fingerprint(&self, benchmark: &str, phase: &str) -> Value {
        let results = self.results.get(benchmark);
        let fingerprint = results.and_then(|results| results.fingerprints.get(phase));
        fingerprint.cloned().unwrap_or_default()
    }

    fn simulated(&self, benchmark: &str, target: &str) -> FileProvenance {
        let fingerprint = self.fingerprint(benchmark, &format!("simulator:{target}"));
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

    fn judged(&self, benchmark: &str) -> FileProvenance {
        let fingerprint = self.fingerprint(benchmark, "evaluator");
        FileProvenance {
            run_id: self.run_id.clone(),
            settings: evaluator_settings(&fingerprint, &self.config),
            ..FileProvenance::default()
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Results {
    #[serde(default)]
    fingerprints: BTreeMap<String, Value>,
    #[serde(default)]
    counts: Vec<Count>,
}

#[derive(Clone, Debug, Deserialize)]
struct Count {
    phase: String,
    target: Option<String>,
    rows: Rows,
}

#[derive(Clone, Debug, Deserialize)]
struct Rows {
    #[serde(default)]
    done: u64,
}
