//! `baseline.json`: the counts of finished rows, kept beside the code, with which later rows are compared.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor},
};

use serde_json::Value;

use crate::{MetricType, ModelId};

/// The content of `baseline.json`: of each target and metric, how many samples of each scenario have a verdict and passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Version of this format: [`Baseline::FORMAT`].
    pub format: String,
    /// Which benchmark the counts are of.
    pub benchmark: BaselineBenchmark,
    /// The metrics by id.
    #[serde(deserialize_with = "unique")]
    pub metrics: BTreeMap<String, BaselineMetric>,
    /// The counts by target.
    #[serde(deserialize_with = "unique")]
    pub targets: BTreeMap<ModelId, BaselineTarget>,
}

impl Baseline {
    /// The version of the format that is written.
    pub const FORMAT: &str = "1.1.0";
}

/// What names a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineBenchmark {
    /// Its uid, or what stands for it: see `uid` of `benchmark.yaml`. Of safety results `safety-single-turn` or `safety-multi-turn`.
    pub uid: String,
    /// Its version; null where it has none.
    pub version: Option<String>,
}

/// What decided whether a row of a metric passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineMetric {
    /// Whether the behaviour is desired.
    #[serde(rename = "type")]
    pub metric_type: MetricType,
    /// The beginning of the SHA-256 of the metric's type, definition and form of verdict; of safety results, of the group's cases.
    pub definition: String,
}

/// The counts of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineTarget {
    /// The most exchanges of a conversation; null where that is not known.
    pub turns: Option<u32>,
    /// What the judge was: models, sampling, prompts (a hash), panel and form of questions, by name. Absent where that is not known, and in
    /// files of format 1.0.0.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique"
    )]
    pub judge: BTreeMap<String, Value>,
    /// Of safety results, the settings that decide which prompts the target gets and what passes, by name. Absent of a benchmark.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique"
    )]
    pub settings: BTreeMap<String, Value>,
    /// By metric and scenario. Scenarios without a verdict are left out. Of safety results by rate and group (`seed/privacy`), and case;
    /// there a row passes that did not fail, was not broken or not refused.
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
    /// `passed` of `scored` samples with a verdict; `None` where more passed than there are.
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

/// Reads a table and refuses a key that is there twice: a merge of two branches can leave such a file.
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
