//! `record.json`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schema::{
    Benchmark, Grades, IncompleteReplies, ModelId, ReasoningReplies, Record, RecordCode,
    RecordMetadata, RecordRun, TargetRef,
};
use serde_json::Value;

use super::{grades::benchmark_ref, write_json};
use crate::{BenchmarkDir, RunError};

/// The input of a record.
pub struct RecordOf<'a> {
    /// The files of the benchmark.
    pub dir: &'a BenchmarkDir,
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// The id of the run.
    pub run_id: &'a str,
    /// How the run ended.
    pub outcome: &'static str,
    /// The git revision of the folder in which the run was started: `{revision, dirty}` or null.
    pub git: &'a Value,
    /// `None`: the run called no system and only summarised. The record then has all systems with scores.
    pub suts: Option<Vec<TargetRef>>,
    /// The grades.
    pub grades: &'a Grades,
    /// The counts of replies, for every system in the tree.
    pub replies: &'a [(IncompleteReplies, ReasoningReplies)],
}

/// Writes the record of a benchmark's run into `folder` and returns its path. `alone`: the run has no other
/// benchmark.
pub fn write_record(folder: &Path, alone: bool, of: RecordOf<'_>) -> Result<PathBuf, RunError> {
    let path = folder.join(if alone {
        "record.json".to_owned()
    } else {
        format!("record-{}.json", of.dir.name())
    });
    let benchmark = benchmark_ref(of.dir, of.benchmark);
    let ran = |id: &ModelId| {
        let suts = of.suts.as_ref();
        suts.is_none_or(|suts| suts.iter().any(|target| target.id == *id))
    };
    let scores = of.grades.scores.iter();
    let record = Record {
        run_uid: run_uid(of.run_id, &benchmark.uid),
        metadata: RecordMetadata {
            format_version: RecordMetadata::FORMAT_VERSION.to_owned(),
            run: RecordRun {
                run_id: of.run_id.to_owned(),
                timestamp: Timestamp::now()
                    .strftime("%Y-%m-%d %H:%M:%S UTC")
                    .to_string(),
                platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                outcome: of.outcome.to_owned(),
            },
            code: RecordCode {
                probity_version: env!("CARGO_PKG_VERSION").to_owned(),
                git: of.git.clone(),
            },
        },
        benchmark,
        standards: of.grades.standards.clone(),
        incomplete_replies: of
            .replies
            .iter()
            .map(|(incomplete, _)| incomplete)
            .filter(|replies| replies.incomplete > 0 && ran(&replies.sut))
            .cloned()
            .collect(),
        reasoning_replies: of
            .replies
            .iter()
            .map(|(_, reasoning)| reasoning)
            .filter(|replies| replies.any() && ran(&replies.sut))
            .cloned()
            .collect(),
        scores: scores.filter(|score| ran(&score.sut)).cloned().collect(),
        suts: of.suts.clone().unwrap_or_default(),
    };
    write_json(&path, &record)?;
    Ok(path)
}

/// `run-<uid>-20261121-015202-897449`.
fn run_uid(run_id: &str, uid: &str) -> String {
    match run_id.strip_prefix("run-") {
        Some(time) => format!("run-{uid}-{time}"),
        None => format!("{uid}-{run_id}"),
    }
}
