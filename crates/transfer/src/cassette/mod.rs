//! Cassettes: one file with everything that a run rests on, from which its tree is made again without a network.
//!
//! A [`Recorder`] stands before the models of a run whose replies are all in the response cache, and keeps each answer by what was asked.
//! [`write_cassette`] puts them into a file, with the benchmark, the settings and the digest of every file of the tree. [`Cassette`] reads
//! it, and its [`Player`] answers the same calls again. See `docs/formats/cassette.md`.

mod answer;
mod archive;
mod failures;
mod player;
mod recorder;
mod tree_files;

use std::{collections::BTreeMap, io, path::PathBuf};

use schema::{PromptVersions, TargetRef, ToolSpec, safety::results::RunParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::RunError;

pub use archive::{Cassette, CassetteParts, CassetteSetup, write_cassette};
pub use failures::FailedCalls;
pub use player::Player;
pub use recorder::{MissingReply, Recorder};
pub use tree_files::{TreeFile, tree_files};

/// What a cassette holds: `cassette.json` in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CassetteRecord {
    /// Version of the format.
    pub format_version: String,
    /// The version of Probity that wrote it.
    pub probity_version: String,
    /// The run whose tree it makes.
    pub run_id: String,
    /// When the run started, UTC.
    pub start: String,
    /// The phases that are made again, in order.
    pub phases: Vec<String>,
    /// The benchmarks, by name.
    pub benchmarks: Vec<String>,
    /// The systems under test of the run.
    pub targets: Vec<String>,
    /// For each benchmark, the versions of prompts and rules that it is measured with.
    pub prompt_versions: BTreeMap<String, PromptVersions>,
    /// The programs that stand in the place of a phase's prompts, by the id of the model. None is started.
    pub programs: BTreeMap<String, ProgramRecord>,
    /// How many answers of models it has.
    pub replies: u64,
    /// SHA-256 of each part of the cassette, by name.
    pub parts: BTreeMap<String, String>,
    /// SHA-256 of each file of the tree after the run, by its path below the folder of benchmarks; of each result file of a safety
    /// evaluation, by its name.
    pub tree: BTreeMap<String, String>,
    /// Only of a safety evaluation: how it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety: Option<SafetyRecording>,
}

/// How a safety evaluation was run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SafetyRecording {
    /// The parameters in the result file of the first target.
    pub run: RunParameters,
    /// The version of the judges' prompts.
    pub judge_prompts: u32,
    /// The result file of each target.
    pub files: Vec<SafetyRecordingFile>,
}

/// A result file of a safety evaluation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SafetyRecordingFile {
    /// The target.
    pub target: TargetRef,
    /// The name of the file.
    pub name: String,
    /// Whether it has the data alone, without the envelope.
    pub bare: bool,
}

/// What is known of a program without starting it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    /// `judge`, `simulator` or `tools`.
    pub kind: String,
    /// What it sees beyond the default.
    pub wants: Vec<String>,
    /// Its name, version and settings.
    pub fingerprint: Value,
    /// The tools that it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
}

impl CassetteRecord {
    /// Version of the format.
    pub const FORMAT_VERSION: &str = "1.1.0";
}

/// Why a cassette cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The cassette cannot be written.
    #[error(transparent)]
    Write(#[from] RunError),
    /// The file is not a cassette.
    #[error("{}: not a cassette: {reason}", path.display())]
    NotACassette {
        /// The file.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A newer version of Probity wrote it.
    #[error("{}: format {version}: a newer version of Probity wrote it; this one reads 1.x", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// A part was changed, cut or removed.
    #[error("{}: {part}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The part.
        part: String,
        /// What is wrong with it.
        reason: String,
    },
}
