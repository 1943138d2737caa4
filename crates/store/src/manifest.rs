//! `manifest.json`: the record of a run, so that its numbers can be trusted and reproduced.

use std::{collections::BTreeMap, path::Path};

use schema::{Extra, SettingsRecord, Shard};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The record of one run: `.probity/runs/<run id>/manifest.json`. It is written when the run starts, with `end` null, and
/// again when it ends.
// Missing keys have their defaults and unknown keys are ignored, so that files of other versions can be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Manifest {
    /// Version of this format.
    pub format_version: String,
    /// The run's id.
    pub run_id: String,
    /// Version of Probity.
    pub probity_version: String,
    /// `{revision, dirty}` of the folder in which the run was started; null if it is not a git tree.
    pub git: Value,
    /// When the run started, UTC.
    pub start: String,
    /// When it ended, UTC; null while it runs, and also if it was killed.
    pub end: Option<String>,
    /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`; null while it runs.
    pub outcome: Option<String>,
    /// The requested benchmarks.
    pub benchmarks: Vec<String>,
    /// The requested phases.
    pub phases: Vec<String>,
    /// The targets that ran.
    pub targets: Vec<schema::TargetRef>,
    /// The order in which rows are simulated: `files`, that of the benchmark's files. Absent in safety evaluations, and in manifests from
    /// before it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_order: Option<String>,
    /// The part that the run plays, where it is split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The limits and the budget of the run are those of `config` divided by this. Absent where they are those of `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divided_by: Option<u32>,
    /// The shards that the tree was merged from: `probity merge` writes such a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<MergedShard>>,
    /// The resolved configuration without secrets; null if it is not known.
    #[serde(serialize_with = "or_null", deserialize_with = "or_unknown")]
    #[schemars(with = "Value")]
    pub config: SettingsRecord,
    /// For each model id, the names under which the endpoints answered.
    pub models: BTreeMap<String, Vec<String>>,
    /// For each benchmark: fingerprints of the phases, counts, costs and failures. In a safety evaluation, for each target:
    /// counts, cost and result file.
    #[schemars(with = "BTreeMap<String, schema::Extra>")]
    pub results: Extra,
    /// Only in a safety evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety: Option<SafetySetup>,
}

/// A shard whose tree was merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct MergedShard {
    /// The folder, as it was named.
    pub folder: String,
    /// The parts that it had.
    pub parts: Vec<u32>,
    /// How many parts there are.
    pub of: u32,
    /// Its runs, oldest first.
    pub runs: Vec<String>,
    /// Their journals, as they are named in the folder of each run.
    pub journals: Vec<String>,
    /// Whether its part was not played to the end.
    pub cut_off: bool,
}

/// The test cases of a safety evaluation, and the parts that attack and score.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct SafetySetup {
    /// The number of test cases of each group.
    #[schemars(with = "BTreeMap<String, usize>")]
    pub groups: Extra,
    /// Fingerprints of the strategies and of the scorer.
    #[schemars(with = "Vec<schema::Extra>")]
    pub parts: Vec<Value>,
    /// The version of the judges' prompts: see `docs/formats/prompts.md`. Absent with a scorer or prompts of one's own, and in manifests
    /// from before versions were recorded, which are version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_prompts: Option<u32>,
}

/// Nothing is known without a configuration.
fn or_null<S: Serializer>(config: &SettingsRecord, serializer: S) -> Result<S::Ok, S::Error> {
    match *config == SettingsRecord::default() {
        true => serializer.serialize_unit(),
        false => config.serialize(serializer),
    }
}

/// A key of the configuration in a form that cannot be read is not known; the other keys and the rest of the manifest are.
fn or_unknown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SettingsRecord, D::Error> {
    let config = Value::deserialize(deserializer)?;
    if let Ok(record) = SettingsRecord::deserialize(&config) {
        return Ok(record);
    }
    let Value::Object(keys) = config else {
        return Ok(SettingsRecord::default());
    };
    let is_readable = |(key, value): &(String, Value)| {
        let alone = Extra::from_iter([(key.clone(), value.clone())]);
        SettingsRecord::deserialize(Value::Object(alone)).is_ok()
    };
    let readable: Extra = keys.into_iter().filter(is_readable).collect();
    Ok(SettingsRecord::deserialize(Value::Object(readable)).unwrap_or_default())
}

impl Manifest {
    /// Name of the file in the folder of its run.
    pub const FILE: &str = "manifest.json";
    /// Name of the file beside it with the test cases of a safety evaluation.
    pub const TEST_CASES: &str = "test-cases.json";
    /// Version of this format.
    pub const FORMAT_VERSION: &str = "1.0.0";
    /// `row_order` of a run that plays rows metric by metric, as the files have them, conversations with more turns before others.
    pub const ORDER_OF_FILES: &str = "files";

    /// Reads the manifest in the folder of a run. `None` if it is missing or cannot be read.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        let text = files::read(folder.join(Self::FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether the run simulated or judged rows, as far as its phases say: one of `aggregate` or of generation alone does neither.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        let of_rows = |phase: &String| ["simulate", "evaluate"].contains(&phase.as_str());
        self.safety.is_some() || self.phases.is_empty() || self.phases.iter().any(of_rows)
    }

    /// The entry `key` of the results of a benchmark or of a target; null if there is none.
    #[must_use]
    pub fn result(&self, name: &str, key: &str) -> &Value {
        let value = self.results.get(name).and_then(|result| result.get(key));
        value.unwrap_or(&Value::Null)
    }

    /// The phases of `benchmark` in which the run finished at least one row, each with its target if it has one.
    pub fn finished_phases(
        &self,
        benchmark: &str,
    ) -> impl Iterator<Item = (&str, Option<&str>)> + use<'_> {
        let counts = self.result(benchmark, "counts").as_array();
        let finished = counts
            .into_iter()
            .flatten()
            .filter(|count| count["rows"]["done"].as_u64() > Some(0));
        finished.filter_map(|count| Some((count["phase"].as_str()?, count["target"].as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_read_costs_no_other_key() {
        let config = |text: &str| {
            let text = format!(r#"{{"run_id": "r", "config": {text}}}"#);
            let manifest: Manifest = serde_json::from_str(&text).unwrap();
            assert_eq!(manifest.run_id, "r");
            manifest.config
        };
        let known = config(
            r#"{"user_model": {"id": "u", "model": "m"}, "generation": {"turns": "many"}, "targets": [{"id": "t"}], "seed": 3}"#,
        );
        assert!(known.user_model.is_some_and(|user| user.is("u")));
        assert!(known.targets.iter().any(|target| target.is("t")));
        assert_eq!(known.generation.turns, None);
        assert_eq!(known.other["seed"], 3);
        assert_eq!(config("7"), SettingsRecord::default());
        assert_eq!(config("null"), SettingsRecord::default());
    }
}
