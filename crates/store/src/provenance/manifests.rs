//! The manifests of earlier runs: which run wrote which file, and how targets without a record of their own were
//! measured.

use std::{collections::BTreeMap, fs};

use schema::{ModelId, setting_keys};

use super::{
    FileProvenance, TargetProvenance, evaluator_settings, simulator_settings, target_settings,
};
use crate::{Layout, Manifest};

/// The maximum number of manifests that are searched, newest first.
const RECORDS: usize = 300;

/// For each target, the settings of the newest runs that simulated and judged its conversations.
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
                    known.conversations = Some(simulated(&run, benchmark, id));
                }
                "evaluate" if known.scores.is_none() => {
                    known.scores = Some(judged(&run, benchmark));
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

/// Reads the manifests of the latest 300 runs, newest first. Manifests that cannot be read are skipped.
pub fn earlier_runs(layout: &Layout) -> impl Iterator<Item = Manifest> {
    let folder = layout.run("");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    // The names of the folders begin with the time.
    runs.sort();
    runs.into_iter()
        .rev()
        .take(RECORDS)
        .filter_map(move |run| Manifest::read(&folder.join(run)))
}

/// How `run` simulated the conversations of `target`.
fn simulated(run: &Manifest, benchmark: &str, target: &str) -> FileProvenance {
    let fingerprint =
        run.result(benchmark, "fingerprints")[setting_keys::simulator(target)].clone();
    let generation = &run.config.generation;
    let samples = generation.num_samples.map(u64::from);
    let mut settings = simulator_settings(&fingerprint, &run.config, samples, &BTreeMap::new());
    if let Some(turns) = generation.turns {
        let of_phase = settings.entry(setting_keys::TURNS.to_owned());
        of_phase.or_insert_with(|| turns.into());
    }
    FileProvenance {
        run_id: run.run_id.clone(),
        sha256: None,
        settings,
        target: target_settings(&run.config, target),
        ..FileProvenance::default()
    }
}

/// How `run` judged conversations.
fn judged(run: &Manifest, benchmark: &str) -> FileProvenance {
    let fingerprint = &run.result(benchmark, "fingerprints")[setting_keys::EVALUATOR];
    FileProvenance {
        run_id: run.run_id.clone(),
        settings: evaluator_settings(fingerprint, &run.config),
        ..FileProvenance::default()
    }
}
