//! `grades.json`: the scores of a benchmark's hazards with their bounds and grades.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BenchmarkScore, Hazard, ModelId, PromptVersions};

/// The content of `grades.json`: one file per benchmark, beside `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grades {
    /// Version of this format: [`Grades::FORMAT`].
    pub format: String,
    /// The benchmark.
    pub benchmark: BenchmarkRef,
    /// The versions of the shipped prompts and rules that the benchmark keeps. Absent for the first ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptVersions>,
    /// The standards that the grades compare with; null without standards, in which case nothing is
    /// graded.
    pub standards: Option<StandardsRef>,
    /// SHA-256 of the `scores.json` of each system under test that its scores are computed from; absent in files before 1.3.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores_sha256: BTreeMap<ModelId, String>,
    /// One entry per system under test, in the order of `results.json`.
    pub scores: Vec<BenchmarkScore>,
}

impl Grades {
    /// The version of the format that Probity writes.
    pub const FORMAT: &str = "1.3.0";
    /// The version where scenarios ended before the last one, when a question was answered.
    pub const SEQUENTIAL_FORMAT: &str = "1.4.0";
}

/// The scored benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkRef {
    /// See [`crate::Benchmark::uid_or`].
    pub uid: String,
    /// Name for people.
    pub name: String,
    /// Its version, if `benchmark.yaml` has one.
    pub version: Option<String>,
    /// Its language and region, if `benchmark.yaml` has them.
    pub locale: Option<String>,
    /// Its hazards as they are scored.
    pub hazards: Vec<Hazard>,
}

/// The standards that the grades compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandardsRef {
    /// The file: its path from the benchmark's folder if it is inside, otherwise its name alone.
    pub file: String,
    /// The uid of the benchmark that the reference systems were measured with.
    pub reference_benchmark: String,
    /// The ids of the reference systems.
    pub reference_suts: Vec<String>,
}
