//! The section `run`.

use llm_client::BatchSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::config::values::Whole;

/// How the command runs.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Run {
    /// Call the models again for every reply.
    pub force: bool,
    /// Call the targets again; keep the replies of other models where their input did not change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh_targets: bool,
    /// Go on although the judge has given no usable verdict in 20 rows.
    #[serde(skip_serializing)]
    pub keep_going: bool,
    /// The calls that are sent in batches, at half the price and within a day; none where it is not set.
    #[serde(skip_serializing)]
    pub batch: Option<BatchedCalls>,
    /// Show the plan; call nothing, write nothing.
    #[serde(skip_serializing)]
    pub dry_run: bool,
    /// Show the rates of each metric and every file.
    #[serde(skip_serializing)]
    pub verbose: bool,
    /// Rows in progress: one number for every phase, or one for each.
    #[schemars(with = "ConcurrencyForm")]
    pub concurrency: Concurrency,
}

impl Run {
    /// Rows, or messages, that are judged at the same time for each target: with batches as many as one of them takes.
    #[must_use]
    pub fn judged_at_once(&self) -> usize {
        let most = self.batch.map_or(0, |_| BatchSettings::MOST);
        most.max(*self.concurrency.evaluate)
    }
}

/// Calls that are sent in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchedCalls {
    /// Those of judges.
    Judge,
}

/// Rows in progress at the same time, by phase.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, SmartDefault)]
#[serde(
    default,
    expecting = "a whole number of 1 or more, or a mapping of phases to such numbers"
)]
#[schemars(deny_unknown_fields)]
pub struct Concurrency {
    /// For gen-scenarios.
    #[default(Whole(8))]
    pub gen_scenarios: Whole<usize, 1>,
    /// For simulate, for each target.
    #[default(Whole(20))]
    pub simulate: Whole<usize, 1>,
    /// For evaluate, for each target.
    #[default(Whole(20))]
    pub evaluate: Whole<usize, 1>,
}

/// A single number is spread over the phases when the layers are merged.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum ConcurrencyForm {
    ByPhase(Concurrency),
    All(Whole<usize, 1>),
}
