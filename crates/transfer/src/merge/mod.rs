//! Joins the trees of shards, which each played a part of the same run.
//!
//! The rows, costs, labels, statistics and grades are byte for byte those of a run that was not split. Manifests, journals and response caches
//! are kept side by side, and the record of the merge lists the shards.

mod alike;
mod benchmark;
mod input;
mod labels;
mod provenance;
mod records;
mod results;
mod rows;
mod safety;

use std::path::{Path, PathBuf};

use schema::{ModelId, ProgramFlag};
use serde_json::Value;
use store::{Layout, MergedShard, RunError, ShardScope};

pub use self::safety::MergedSafety;
use self::{benchmark::merge_benchmark, input::Inputs, records::Records};
use crate::OutFolder;

/// What is merged, and where to.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// The folder of the merged tree, a project's: it gets `benchmarks` and `.probity`.
    pub out: PathBuf,
    /// The folders of the shards.
    pub shards: Vec<PathBuf>,
    /// Replaces `out` if it exists.
    pub force: bool,
    /// What grades compare with, as for a run.
    pub standards: Option<PathBuf>,
    /// The git revision of the folder of the command, for the manifest.
    pub git: Value,
}

/// What was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeReport {
    /// The id of the merge's record.
    pub run_id: String,
    /// The folder of benchmarks.
    pub benchmarks_folder: PathBuf,
    /// The benchmarks.
    pub benchmarks: Vec<MergedBenchmark>,
    /// The shards.
    pub shards: Vec<MergedShard>,
    /// The parts of safety evaluations, whose replies and journals are joined: an evaluation of all cases in the merged folder makes the result
    /// files of them.
    pub safety: Vec<MergedSafety>,
    /// Replies in the merged cache.
    pub replies: u64,
    /// Notes for people.
    pub notes: Vec<String>,
}

impl MergeReport {
    /// Whether no row is missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.benchmarks.iter().all(|one| one.lacks.is_none())
            && self.safety.iter().all(MergedSafety::is_whole)
    }
}

/// A merged benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedBenchmark {
    /// Its folder's name.
    pub name: String,
    /// Its targets.
    pub targets: Vec<MergedTarget>,
    /// What it lacks, for people; `None` where it is whole.
    pub lacks: Option<String>,
}

/// A target of a merged benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedTarget {
    /// The target.
    pub id: ModelId,
    /// Its conversations.
    pub conversations: u64,
    /// Its rows of scores.
    pub scores: u64,
}

/// Joins the trees of shards. Nothing is written to them, and the merged tree appears when it is complete.
///
/// # Errors
/// When the folders are not those of shards, shards do not belong together (other scenarios, metrics, settings, judges, prompts, or rows of the
/// same id that differ: the text names them), a run is at work in one, `out` exists, or a file cannot be read or written.
pub fn merge(options: &MergeOptions) -> Result<MergeReport, RunError> {
    let inputs = Inputs::open(&options.shards)?;
    for name in inputs.names() {
        alike::check(name, &inputs.parts(name)?)?;
    }
    let safety = safety::find(&inputs)?;
    if options.out.exists() && !options.force {
        let text = format!("{}: it exists, and is not replaced", options.out.display());
        return Err(RunError::input(text).with_help(format!(
            "name another folder; {} replaces it, whatever is in it",
            ProgramFlag::new("force")
        )));
    }
    let out = OutFolder::begin(&options.out, "merging", options.force)?;
    let layout = Layout::of_project(out.root());
    let mut records = Records::new(&inputs, &layout, &options.git);
    let mut benchmarks = Vec::new();
    for name in inputs.names() {
        let parts = inputs.parts(name)?;
        let merged = merge_benchmark(&layout, name, &parts)?;
        records.cut_off(&parts, &merged.cut_off);
        let targets = records.targets();
        results::write(
            &layout,
            name,
            &parts,
            options.standards.as_deref(),
            &results::RecordInput {
                run_id: records.run_id(),
                alone: inputs.names().count() == 1,
                git: &options.git,
                targets,
                is_whole: merged.is_whole,
            },
        )?;
        records.notes.extend(merged.notes);
        let scope = ShardScope::read(&layout.benchmark(name)?)?;
        benchmarks.push(MergedBenchmark {
            name: name.to_owned(),
            targets: merged.targets,
            lacks: scope.map(|scope| scope.to_string()),
        });
    }
    let is_whole = benchmarks.iter().all(|one| one.lacks.is_none())
        && safety.iter().all(MergedSafety::is_whole);
    let replies = records.write(is_whole)?;
    let report = MergeReport {
        run_id: records.run_id().to_owned(),
        benchmarks_folder: folder_of_benchmarks(&options.out),
        benchmarks,
        shards: records.shards,
        safety,
        replies,
        notes: records.notes,
    };
    out.keep()?;
    Ok(report)
}

fn folder_of_benchmarks(out: &Path) -> PathBuf {
    Layout::of_project(out).benchmarks().to_owned()
}
