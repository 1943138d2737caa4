//! The run as a whole.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Extra, PromptVersions, Shard, TargetRef};

/// The first line.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StartingJournal {
    /// Version of the format. Journals of other programs have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format_version: Option<Cow<'static, str>>,
}

/// The previous run of the same benchmark did not complete, and this one continues it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResumingRun {
    /// The id of the previous run.
    pub earlier_run: String,
    /// Its outcome according to its manifest; null if it was killed.
    #[schemars(with = "Option<String>")]
    pub outcome: Option<Value>,
}

/// A run begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StartingRun {
    /// The id in the file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The benchmarks.
    pub benchmarks: Vec<String>,
    /// The ids of the metrics.
    pub tests: Vec<String>,
    /// The ids of the systems under test.
    pub suts: Vec<Arc<str>>,
    /// The most items that are run; null: all.
    pub max_items: Option<u64>,
    /// Conversations in flight for each system under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_count: Option<u64>,
    /// The benchmark's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The requested phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<Cow<'static, str>>>,
    /// How often each scenario is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// The versions of the shipped prompts and rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_versions: Option<PromptVersions>,
    /// The part that the run plays, where it is split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The safety evaluation that the journal belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_run: Option<String>,
    /// The systems under test as the rows name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<TargetRef>>,
    /// The system prompt of a safety evaluation's target; null: none.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Value>,
    /// The settings of a safety evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
}

/// A calibration begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StartingCalibrationRun {
    /// The id in the file's name.
    pub run_id: String,
    /// The benchmarks.
    pub benchmarks: Vec<String>,
    /// The ids of the metrics.
    pub tests: Option<Vec<String>>,
    /// The ids of the systems under test.
    pub suts: Option<Vec<String>>,
    /// The most items that are run; null: all.
    pub max_items: Option<u64>,
    /// Conversations in flight for each system under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_count: Option<u64>,
    /// The ids of the reference systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_suts: Option<Vec<Arc<str>>>,
}

/// A hazard of the benchmark.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HazardInfo {
    /// The hazard's id.
    pub hazard: String,
    /// The benchmark.
    pub benchmark: String,
    /// The ids of its metrics.
    pub tests: Vec<String>,
}

/// A metric of the benchmark.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TestInfo {
    /// The metric's id.
    pub test: String,
    /// `{module, class_name, args, kwargs}`.
    #[schemars(with = "Extra")]
    pub initialization: Value,
    /// The settings that the systems under test are called with.
    pub sut_options: Value,
    /// Empty: a metric needs no files.
    pub dependencies: Value,
}

/// Scenarios are generated, simulated and judged from here on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunningPipeline {}

/// How many items of a metric are run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsingTestItems {
    /// Items that are run.
    pub using: u64,
    /// Items that exist.
    pub total: u64,
    /// The metric's id.
    pub test: String,
    /// Items that are run for the systems under test for which it is another number than [`using`](Self::using), the largest one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_sut: BTreeMap<Arc<str>, u64>,
}

/// The budget does not allow any more rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReached {
    /// The system under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sut: Option<Arc<str>>,
    /// The reason as text.
    pub reason: String,
}

/// All items ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FinishedPipeline {
    /// Seconds.
    pub time: Option<f64>,
    /// Items that finished.
    pub total_finished: Option<u64>,
    /// The same number by system under test and metric.
    #[schemars(with = "Option<BTreeMap<String, BTreeMap<String, u64>>>")]
    pub finished_counts: Option<Value>,
}

/// The run completed all its phases.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FinishedRun {
    /// The run's id.
    pub run_id: String,
}

/// The run could not continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExceptionStoppingRun {
    /// The type of the error or the stop.
    pub exc_type: Cow<'static, str>,
    /// Its text.
    pub exc_val: Option<Value>,
}

impl ExceptionStoppingRun {
    /// The type if the run could not continue, for example on a full disk. The format keeps the original name.
    pub const ERROR: &str = "pipeline::PipelineError";
    /// The type if the run was stopped.
    pub const STOP: &str = "llm_client::Stop";
}

/// The last line of a complete journal.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClosingJournal {}

/// The content of the response cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CacheInfo {
    /// The type of the cache.
    pub r#type: Option<Cow<'static, str>>,
    /// The location of the cache.
    pub cache: Option<Value>,
    /// The number of replies at the start.
    pub start_count: Option<u64>,
    /// The number of replies at the end.
    pub end_count: Option<u64>,
}

impl CacheInfo {
    /// The event of the reply cache `cache`, with `start` replies before the run and `end` after it.
    #[must_use]
    pub fn of_replies(cache: &str, start: u64, end: u64) -> Self {
        Self {
            r#type: Some("reply_cache".into()),
            cache: Some(format!("Cache({cache})").into()),
            start_count: Some(start),
            end_count: Some(end),
        }
    }
}
