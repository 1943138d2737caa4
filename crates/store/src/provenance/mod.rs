//! The provenance of the files of a benchmark: `.probity/provenance/<benchmark>.json`.
//!
//! Each time a run writes the conversations or the scores of a target, it records the settings and the hash of the file. A later
//! command can then see which targets of a table were measured in the same way, and which files were edited since.

mod authors;
mod basis;
mod compare;
mod manifests;
mod replaced;
mod settings;
mod versions;

use std::collections::BTreeMap;

use schema::{Metric, ModelId, PromptVersions, ReplyAges, Scenario, setting_keys, text::hex};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

pub use authors::ScriptedAuthors;
pub use basis::target_bases;
pub use compare::{
    Difference, SettingGroup, SettingsByName, TableProvenance, compare, setting_differences,
};
pub use manifests::earlier_runs;
pub use replaced::KeptCopy;
pub use replaced::{ReplaceReason, ReplacedFile, is_kept_copy};
pub(crate) use settings::group as setting_group;
pub use settings::{Settings, changes, label};
pub use settings::{
    change_in_words, configured_models, evaluator_settings, flatten as flatten_settings,
    judge_settings, recorded_models, safety_judge_settings, simulator_settings, target_settings,
};
pub use versions::begun_with;

use crate::{BenchmarkDir, Layout, RunError, write_json};

/// The record of one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of this format.
    #[serde(default)]
    pub format_version: String,
    /// The versions of the shipped prompts and rules that the benchmark keeps. Absent in the record of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptVersions>,
    /// The metrics of the latest generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<GeneratedMetrics>,
    /// The `scenarios.json` of the latest generation.
    #[serde(default)]
    pub scenarios: Option<GeneratedScenarios>,
    /// By the target's id.
    #[serde(default)]
    pub targets: BTreeMap<String, TargetProvenance>,
}

/// The metrics of a `benchmark.yaml` as they were generated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratedMetrics {
    /// The run that wrote them.
    pub run_id: String,
    /// The beginning of the SHA-256 of each metric, by the metric's id.
    pub rows: BTreeMap<String, String>,
}

/// A `scenarios.json` as it was generated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratedScenarios {
    /// The run that wrote it.
    pub run_id: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The beginning of the SHA-256 of each row, by the row's id.
    pub rows: BTreeMap<String, String>,
}

/// The provenance of the files of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetProvenance {
    /// `conversations.json`.
    #[serde(default)]
    pub conversations: Option<FileProvenance>,
    /// `scores.json`.
    #[serde(default)]
    pub scores: Option<FileProvenance>,
    /// The conversations that the scores belong to, if known.
    #[serde(default)]
    pub judged: Option<FileProvenance>,
}

/// The provenance of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileProvenance {
    /// The run that wrote it.
    pub run_id: String,
    /// SHA-256 of the file; `None` if only a manifest documents the run.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The settings that all targets of a table should share.
    pub settings: Settings,
    /// The settings of the target itself, in which targets may differ.
    #[serde(default)]
    pub target: Settings,
    /// How old the replies of the target are. Absent for scores, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<ReplyAges>,
    /// Models whose calls for the file are assumed to be free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed_free: Vec<String>,
}

impl Provenance {
    /// Version of this format.
    pub const FORMAT_VERSION: &str = "1.2.0";

    /// The record of a benchmark. Empty if it is missing or cannot be read.
    #[must_use]
    pub fn read(dir: &BenchmarkDir) -> Self {
        let text = files::read(dir.provenance()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// The record of a benchmark. Targets that it does not contain are looked up in the manifests of earlier runs, if those
    /// exist.
    #[must_use]
    pub fn read_all(layout: &Layout, dir: &BenchmarkDir, targets: &[ModelId]) -> Self {
        let mut found = Self::read(dir);
        let unknown = |id: &&ModelId| !found.targets.contains_key(id.as_str());
        let unknown: Vec<&ModelId> = targets.iter().filter(unknown).collect();
        if !unknown.is_empty() {
            let older = manifests::of_targets(layout, dir.name(), &unknown);
            found.targets.extend(older);
        }
        found
    }

    /// Writes the record of a benchmark.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, dir: &BenchmarkDir) -> Result<(), RunError> {
        self.format_version = Self::FORMAT_VERSION.to_owned();
        write_json(dir.provenance(), self)
    }

    /// What is known about a target. Empty if nothing is.
    #[must_use]
    pub fn target(&self, id: &ModelId) -> TargetProvenance {
        self.targets.get(id.as_str()).cloned().unwrap_or_default()
    }
}

impl TargetProvenance {
    /// The most exchanges of the conversations, if known.
    #[must_use]
    pub fn turns(&self) -> Option<u32> {
        let played = self.judged.as_ref().or(self.conversations.as_ref())?;
        played
            .settings
            .get(setting_keys::TURNS)?
            .as_u64()?
            .try_into()
            .ok()
    }

    /// The settings of the judge, as a baseline keeps them. Empty if unknown.
    #[must_use]
    pub fn judge(&self) -> Settings {
        let scores = self.scores.as_ref();
        scores
            .map(|scores| judge_settings(&scores.settings))
            .unwrap_or_default()
    }

    /// How often each scenario was simulated, if known.
    #[must_use]
    pub fn samples(&self) -> Option<u32> {
        let simulated = self.conversations.as_ref()?;
        simulated
            .settings
            .get(setting_keys::SAMPLES)?
            .as_u64()?
            .try_into()
            .ok()
    }

    /// The conversations that the scores belong to.
    pub(crate) fn judged(&self) -> Option<&FileProvenance> {
        self.judged.as_ref()
    }
}

impl GeneratedMetrics {
    /// The record of metrics that the run `run_id` wrote.
    #[must_use]
    pub fn new(run_id: String, metrics: &[Metric]) -> Self {
        Self {
            run_id,
            rows: metric_hashes(metrics),
        }
    }

    /// Whether `metrics` are exactly the generated ones.
    #[must_use]
    pub fn are(&self, metrics: &[Metric]) -> bool {
        self.rows == metric_hashes(metrics)
    }

    /// Whether one of `metrics` is unchanged since it was generated.
    #[must_use]
    pub fn holds_one_of(&self, metrics: &[Metric]) -> bool {
        let generated = |(id, hash): (String, String)| self.rows.get(&id) == Some(&hash);
        metric_hashes(metrics).into_iter().any(generated)
    }
}

fn metric_hashes(metrics: &[Metric]) -> BTreeMap<String, String> {
    let hash = |metric: &Metric| {
        let mut hash = hex(&Sha256::digest(json!(metric).to_string()));
        hash.truncate(16);
        (metric.id.clone(), hash)
    };
    metrics.iter().map(hash).collect()
}

impl GeneratedScenarios {
    /// The record of the scenarios that the run `run_id` left in `dir`.
    pub fn new<'a>(
        run_id: String,
        dir: &BenchmarkDir,
        rows: impl Iterator<Item = &'a Scenario>,
    ) -> Option<Self> {
        Some(Self {
            run_id,
            sha256: dir.digest(&dir.scenarios())?,
            rows: rows.map(|row| (row.id.clone(), row_hash(row))).collect(),
        })
    }

    /// Whether one of `rows` is unchanged since it was generated.
    pub fn holds_one_of(&self, rows: &[Scenario]) -> bool {
        let generated = |row: &Scenario| self.rows.get(&row.id) == Some(&row_hash(row));
        rows.iter().any(generated)
    }
}

/// A short hash that is enough to distinguish rows.
fn row_hash(row: &Scenario) -> String {
    let mut hash = hash_of_scenarios([row]);
    hash.truncate(16);
    hash
}

/// The SHA-256 of the fields of the rows that the simulation uses. A metric's name and type are not included, since the file may
/// lack them.
pub fn hash_of_scenarios<'a>(rows: impl IntoIterator<Item = &'a Scenario>) -> String {
    let mut hash = Sha256::new();
    for row in rows {
        let played = Scenario {
            metric_name: None,
            metric_type: None,
            ..row.clone()
        };
        hash.update(json!(played).to_string());
        hash.update("\n");
    }
    hex(&hash.finalize())
}
