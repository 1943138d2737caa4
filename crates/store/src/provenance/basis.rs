//! What the results of targets rest on: how old the replies are, and which calls are assumed to be free.

use std::collections::BTreeSet;

use schema::{ModelId, TargetBasis};

use super::{FileProvenance, Provenance, settings::target_version};
use crate::BenchmarkDir;

/// What the results of `targets` rest on, as far as it is on record. Targets of which nothing is known are left out, and so are facts about
/// conversations that were replaced since by another program.
#[must_use]
pub fn target_bases(dir: &BenchmarkDir, targets: &[ModelId]) -> Vec<TargetBasis> {
    let all = Provenance::read(dir);
    let basis = |id: &ModelId| {
        let known = all.target(id);
        // Scores rest on the conversations that were judged.
        let simulated = known
            .judged
            .or(known.conversations)
            .filter(|record| is_current(dir, id, record))
            .unwrap_or_default();
        let judging = known.scores.iter().flat_map(|scores| &scores.assumed_free);
        let free: BTreeSet<String> = simulated
            .assumed_free
            .iter()
            .chain(judging)
            .cloned()
            .collect();
        let basis = TargetBasis {
            target: id.clone(),
            version: target_version(&simulated.target),
            replies: simulated.replies,
            assumed_free: free.into_iter().collect(),
        };
        (!basis.is_empty()).then_some(basis)
    };
    targets.iter().filter_map(basis).collect()
}

/// Whether the target's conversations are those of the record. Scores alone, without conversations, are judged by their record.
fn is_current(dir: &BenchmarkDir, id: &ModelId, record: &FileProvenance) -> bool {
    let now = dir
        .target(id)
        .ok()
        .and_then(|files| dir.digest(&files.conversations()));
    now.is_none() || record.sha256.is_none() || now == record.sha256
}
