//! `record.json`: the results of one run for one benchmark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BenchmarkRef, BenchmarkScore, IncompleteReplies, ReasoningReplies, StandardsRef, TargetRef,
};

/// The content of `record.json`: metadata, the benchmark with its hazards and tests, and the scores with bounds and grades
/// of every system under test of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The run's id and the benchmark's uid: `run-<uid>-<time>`. Unique among records.
    pub run_uid: String,
    /// The origin of the record.
    #[serde(rename = "_metadata")]
    pub metadata: RecordMetadata,
    /// The benchmark.
    pub benchmark: BenchmarkRef,
    /// The standards that the grades compare with; null without standards, in which case nothing is graded.
    pub standards: Option<StandardsRef>,
    /// The systems under test of the run; empty if it only summarised existing scores.
    pub suts: Vec<TargetRef>,
    /// One entry per system under test of the run that has scores; if it only summarised, one per system that has scores.
    pub scores: Vec<BenchmarkScore>,
    /// The systems under test of `scores` that gave empty or cut-off replies. Absent if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete_replies: Vec<IncompleteReplies>,
    /// The systems under test of `scores` whose replies came with reasoning, or seem to contain some. Absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning_replies: Vec<ReasoningReplies>,
}

/// The origin of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordMetadata {
    /// Version of this format: [`RecordMetadata::FORMAT_VERSION`].
    pub format_version: String,
    /// The run.
    pub run: RecordRun,
    /// The program.
    pub code: RecordCode,
}

impl RecordMetadata {
    /// The version of the format that Probity writes.
    pub const FORMAT_VERSION: &str = "1.1.0";
}

/// The run of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRun {
    /// The run's id: `run-YYYYMMDD-HHMMSS-ffffff`.
    pub run_id: String,
    /// When the record was written, UTC.
    pub timestamp: String,
    /// Operating system and processor, such as `linux x86_64`.
    pub platform: String,
    /// `complete`; `failed_rows`; `interrupted` if the run was stopped or its budget was spent: rows are then missing.
    pub outcome: String,
}

/// The program that wrote a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordCode {
    /// Version of Probity.
    pub probity_version: String,
    /// `{revision, dirty}` of the folder in which the run was started; null if it is not a git tree.
    pub git: Value,
}
