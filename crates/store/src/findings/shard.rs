//! Results of one part of a run that is split, or of a merged tree that lacks some.

use schema::{FindingAdvice, FindingKind};

use super::Findings;
use crate::{BenchmarkDir, ShardScope};

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
