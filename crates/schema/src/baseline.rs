//! `baseline.json`: the counts of finished rows. The file is kept with the code, and later rows are compared with it.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor},
};

use serde_json::Value;

use crate::{MetricType, ModelId};

/// The content of `baseline.json`: for each target and metric, how many samples of each scenario have a verdict and how many passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Version of this format: [`Baseline::FORMAT`].
    pub format: String,
    /// The benchmark that the counts belong to.
    pub benchmark: BaselineBenchmark,
    /// The metrics by id.
    #[serde(deserialize_with = "unique")]
    pub metrics: BTreeMap<String, BaselineMetric>,
    /// The counts by target.
    #[serde(deserialize_with = "unique")]
    pub targets: BTreeMap<ModelId, BaselineTarget>,
}

impl Baseline {
    /// The version of the format that Probity writes.
    pub const FORMAT: &str = "1.2.0";
}

/// The identity of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineBenchmark {
    /// Its uid, or the default uid: see `uid` of `benchmark.yaml`. For safety results, `safety-single-turn` or `safety-multi-turn`.
    pub uid: String,
    /// Its version; null if it has none.
    pub version: Option<String>,
}

/// The fields that decided whether a row of a metric passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineMetric {
    /// Whether the behaviour is desired.
    #[serde(rename = "type")]
    pub metric_type: MetricType,
    /// The beginning of the SHA-256 of the metric's type, definition and form of verdict; for safety results, of the group's cases.
    pub definition: String,
}

/// The counts of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineTarget {
    /// SHA-256 of the `scores.json` that the counts are of. Absent for safety results, and in files before 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores_sha256: Option<String>,
    /// The most exchanges of a conversation; null if unknown.
    pub turns: Option<u32>,
    /// The judge: models, sampling, prompts (a hash), panel and form of questions, by name. Absent if unknown, and in files of format
    /// 1.0.0.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique"
    )]
    pub judge: BTreeMap<String, Value>,
    /// For safety results, the settings that decide which prompts the target gets and which replies pass, by name. Absent for a benchmark.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique"
    )]
    pub settings: BTreeMap<String, Value>,
    /// By metric and scenario. Scenarios without a verdict are left out. For safety results, by rate and group (`seed/privacy`), and case;
    /// a row passes if it did not fail, was not broken or not refused.
    #[serde(deserialize_with = "unique")]
    pub metrics: BTreeMap<String, BaselineScenarios>,
}

/// The counts of one metric by scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BaselineScenarios(
    /// By the scenario's id.
    #[serde(deserialize_with = "unique")]
    pub BTreeMap<String, BaselineCounts>,
);

/// The samples of one metric and scenario: `[passed, scored]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "(u64, u64)", into = "(u64, u64)")]
#[schemars(with = "(u64, u64)")]
pub struct BaselineCounts {
    passed: u64,
    scored: u64,
}

impl BaselineCounts {
    /// `passed` of `scored` samples with a verdict; `None` if `passed` is larger than `scored`.
    #[must_use]
    pub fn new(passed: u64, scored: u64) -> Option<Self> {
        (passed <= scored).then_some(Self { passed, scored })
    }

    /// Samples that passed.
    #[must_use]
    pub fn passed(self) -> u64 {
        self.passed
    }

    /// Samples with a verdict.
    #[must_use]
    pub fn scored(self) -> u64 {
        self.scored
    }
}

impl TryFrom<(u64, u64)> for BaselineCounts {
    type Error = String;

    fn try_from((passed, scored): (u64, u64)) -> Result<Self, String> {
        Self::new(passed, scored).ok_or_else(|| {
            format!("expected [passed, scored], found [{passed}, {scored}]: more passed than have a verdict")
        })
    }
}

impl From<BaselineCounts> for (u64, u64) {
    fn from(counts: BaselineCounts) -> Self {
        (counts.passed, counts.scored)
    }
}

/// Reads a table and refuses a duplicate key: a merge of two branches can leave such a file.
fn unique<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord + fmt::Debug,
    V: Deserialize<'de>,
{
    struct UniqueKeys<K, V>(PhantomData<(K, V)>);

    impl<'de, K, V> Visitor<'de> for UniqueKeys<K, V>
    where
        K: Deserialize<'de> + Ord + fmt::Debug,
        V: Deserialize<'de>,
    {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut read = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<K, V>()? {
                if read.contains_key(&key) {
                    return Err(A::Error::custom(format!("duplicate key {key:?}")));
                }
                read.insert(key, value);
            }
            Ok(read)
        }
    }

    deserializer.deserialize_map(UniqueKeys(PhantomData))
}
