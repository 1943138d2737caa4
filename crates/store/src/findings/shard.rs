//! Results of one part of a run that is split, or of a merged tree that lacks some.

use schema::{FindingAdvice, FindingKind, ModelId, Shard};

use super::Findings;
use crate::{BenchmarkDir, ShardScope};

/// Adds that results of a safety evaluation are of a part.
pub(super) fn add_part(found: &mut Findings, target: &ModelId, shard: Shard) {
    let text = format!("{shard} of the test cases: the rates are not those of all cases");
    let advice = Some(FindingAdvice::MergeShards);
    found.warn(
        FindingKind::Shard,
        std::slice::from_ref(target),
        text,
        advice,
    );
}

pub(super) fn add(found: &mut Findings, dir: &BenchmarkDir) {
    // A file that cannot be read is an error of the run, and of `validate`.
    let Ok(Some(scope)) = ShardScope::read(dir) else {
        return;
    };
    let (text, advice) = match scope.file.merged {
        false => (
            format!("{scope}. The rates are not those of the whole benchmark"),
            FindingAdvice::MergeShards,
        ),
        true => (scope.to_string(), FindingAdvice::PlayMissing),
    };
    found.warn(FindingKind::Shard, &[], text, Some(advice));
}
