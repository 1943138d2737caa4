//! How the merged files came about: the settings that all shards share.

use std::collections::BTreeSet;

use schema::{ModelId, ReplyAges};
use store::{
    BenchmarkDir, RunError,
    provenance::{FileProvenance, Provenance, TargetProvenance},
};

use super::{benchmark::MergedFile, input::Part};

/// The record of the merged benchmark, without its targets: that of the first shard.
pub(super) fn begin(parts: &[Part<'_>]) -> Provenance {
    let mut known = parts
        .first()
        .map(|part| Provenance::read(&part.dir))
        .unwrap_or_default();
    known.targets.clear();
    known
}

/// Adds the record of a target, of its merged conversations and scores. A target without a record in a shard with its rows gets none: its settings
/// are not known.
pub(super) fn add(
    known: &mut Provenance,
    parts: &[Part<'_>],
    id: &ModelId,
    (simulated, scored): (&MergedFile, &MergedFile),
) -> Result<(), RunError> {
    let of_parts: Vec<(&BenchmarkDir, TargetProvenance)> = parts
        .iter()
        .map(|part| (&part.dir, Provenance::read(&part.dir).target(id)))
        .collect();
    let of_file = |file: &MergedFile, is_scores: bool| -> Result<_, RunError> {
        let mut records = Vec::new();
        for (dir, of_target) in &of_parts {
            let files = dir.target(id)?;
            let (path, record) = match is_scores {
                true => (files.scores(), &of_target.scores),
                false => (files.conversations(), &of_target.conversations),
            };
            if path.exists() {
                records.push(record.clone());
            }
        }
        let all: Option<Vec<FileProvenance>> = records.into_iter().collect();
        Ok(all.and_then(|all| joined(all, file)))
    };
    let conversations = of_file(simulated, false)?;
    let scores = of_file(scored, true)?;
    if conversations.is_none() && scores.is_none() {
        return Ok(());
    }
    let judged = scores.as_ref().and(conversations.clone());
    let target = TargetProvenance {
        judged,
        conversations,
        scores,
    };
    known.targets.insert(id.to_string(), target);
    Ok(())
}

/// The record of a file that was joined of those of `all`.
fn joined(all: Vec<FileProvenance>, file: &MergedFile) -> Option<FileProvenance> {
    let sha256 = Some(file.sha256.clone()?);
    let runs = all.iter().map(|file| file.run_id.clone());
    let free: BTreeSet<String> = all
        .iter()
        .flat_map(|file| file.assumed_free.iter().cloned())
        .collect();
    let ages: Option<Vec<ReplyAges>> = all.iter().map(|file| file.replies.clone()).collect();
    Some(FileProvenance {
        run_id: runs.max().unwrap_or_default(),
        sha256,
        replies: ages.and_then(joined_ages).map(|ages| ReplyAges {
            replies: ages.replies.saturating_sub(file.repeated),
            ..ages
        }),
        assumed_free: free.into_iter().collect(),
        ..all.into_iter().next()?
    })
}

fn joined_ages(all: Vec<ReplyAges>) -> Option<ReplyAges> {
    all.into_iter().reduce(|one, two| ReplyAges {
        replies: one.replies + two.replies,
        from: one.from.min(two.from),
        to: one.to.max(two.to),
    })
}
