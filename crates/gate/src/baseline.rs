//! The baseline of a benchmark: the current counts of its rows, which later runs are compared with.

use std::path::PathBuf;

use schema::{Baseline, BaselineTarget, FindingAdvice, ModelId, gate::SafetyScope, text::counted};
use store::{
    Layout, RunError, ShardScope, add_safety_target, baseline_of, baseline_target,
    choose_scored_targets, list_ids,
    provenance::Provenance,
    read_benchmark, safety_baseline,
    safety_results::{SafetySource, choose, open, safety_baseline_file},
    write_baseline,
};

/// The options of a baseline.
#[derive(Clone, Debug, Default)]
pub struct BaselineOptions {
    /// The targets; empty: all that have scores.
    pub targets: Vec<ModelId>,
    /// The file; `None`: `baseline.json` in the folder of the benchmark, or [`safety_baseline_file`] for safety results.
    pub out: Option<PathBuf>,
}

/// A baseline that was written.
#[derive(Clone, Debug)]
pub struct WrittenBaseline {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub baseline: Baseline,
    /// Notes for readers, for example about rows without a verdict.
    pub notes: Vec<String>,
}

/// Writes the baseline of a benchmark from the scores in its tree. An existing file is replaced.
///
/// # Errors
/// When the tree is not whole but of some shards, there are no scores, no row has a verdict, or the file cannot be written.
pub fn baseline(
    layout: &Layout,
    name: &str,
    options: &BaselineOptions,
) -> Result<WrittenBaseline, RunError> {
    let dir = layout.benchmark(name)?;
    if let Some(scope) = ShardScope::read(&dir)? {
        let advice = match scope.file.merged {
            true => FindingAdvice::PlayMissing,
            false => FindingAdvice::MergeShards,
        };
        return Err(of_part(&format!("{name}: {scope}")).with_help(advice.notice(name)));
    }
    let benchmark = read_benchmark(&dir)?;
    let targets = choose_scored_targets(&dir, &options.targets)?;
    let provenance = Provenance::read_all(layout, &dir, &targets);
    let mut baseline = baseline_of(&dir, &benchmark);
    let mut notes = Vec::new();
    for id in &targets {
        let facts = dir.score_facts(&benchmark, id)?;
        let rows = &facts.rows;
        let counts = baseline_target(rows, &benchmark, &provenance.target(id));
        if counts.metrics.is_empty() {
            notes.push(format!("{id} has no verdict and is left out"));
            continue;
        }
        let missing = rows.missing();
        if missing > 0 {
            notes.push(format!(
                "{id}: {} without a verdict; scenarios without any are left out",
                counted(missing, "row", "rows")
            ));
        }
        baseline.targets.insert(id.clone(), counts);
    }
    if baseline.targets.is_empty() {
        return Err(RunError::input(format!(
            "{}: no row of {} has a verdict",
            dir.root().display(),
            list_ids(&targets)
        )));
    }
    let path = options.out.clone().unwrap_or_else(|| dir.baseline());
    write_baseline(&path, &baseline)?;
    Ok(WrittenBaseline {
        path,
        baseline,
        notes,
    })
}

/// Writes the baseline of results of safety evaluations, of one kind and one target each. An existing file is replaced.
///
/// # Errors
/// When a file has no rates, no row has a verdict, or the baseline cannot be written.
pub fn baseline_safety(
    layout: &Layout,
    sources: &[SafetySource<'_>],
    options: &BaselineOptions,
) -> Result<WrittenBaseline, RunError> {
    let (uid, opened) = open(sources)?;
    let opened = choose(opened, &options.targets)?;
    if let Some((shard, one)) = opened.iter().find_map(|one| one.run.shard.zip(Some(one))) {
        let what = format!("{}: {shard} of the test cases", one.target());
        return Err(of_part(&what).with_help(FindingAdvice::MergeShards.notice("")));
    }
    let mut baseline = safety_baseline(uid);
    let mut notes = Vec::new();
    for one in &opened {
        add_safety_target(&mut baseline, one.details, one.run, &one.config(layout));
        let id = one.target();
        let not_run = one.not_run(SafetyScope::Attempts);
        let missing = one.details.errors.len() as u64 + not_run;
        if missing > 0 {
            notes.push(format!(
                "{id}: {} without a verdict; cases without any are left out",
                counted(missing, "row", "rows")
            ));
        }
    }
    let is_empty = |target: &BaselineTarget| target.metrics.is_empty();
    if baseline.targets.values().all(is_empty) {
        let targets: Vec<ModelId> = baseline.targets.into_keys().collect();
        return Err(RunError::input(format!(
            "no case of {} has a verdict",
            list_ids(&targets)
        )));
    }
    let path = options
        .out
        .clone()
        .unwrap_or_else(|| safety_baseline_file(uid));
    write_baseline(&path, &baseline)?;
    Ok(WrittenBaseline {
        path,
        baseline,
        notes,
    })
}

/// The error of results that are those of a part.
fn of_part(what: &str) -> RunError {
    RunError::input(format!("{what}; a baseline needs all of them"))
}
