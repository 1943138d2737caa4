//! The section `run`.

use llm_client::BatchSettings;
use schema::Purpose;
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
    /// Rows in progress at the same time, by phase: with batches of a phase as many as one of them takes.
    #[must_use]
    pub fn at_once(&self) -> PhaseConcurrency {
        let most = |given: usize, purpose: Purpose| {
            let batched = self.batch.is_some_and(|batch| batch.has(purpose));
            given.max(if batched { BatchSettings::MOST } else { 0 })
        };
        let of_phase = &self.concurrency;
        PhaseConcurrency {
            gen_scenarios: most(*of_phase.gen_scenarios, Purpose::GenScenarios),
            simulate: most(*of_phase.simulate, Purpose::TargetTurn),
            cases: most(*of_phase.simulate, Purpose::TargetTurn)
                .max(most(0, Purpose::GenVariation)),
            evaluate: most(*of_phase.evaluate, Purpose::Judge),
        }
    }
}

/// Rows in progress at the same time, by phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseConcurrency {
    /// Of gen-scenarios.
    pub gen_scenarios: usize,
    /// Of simulate, for each target.
    pub simulate: usize,
    /// Cases of a safety evaluation, whose prompts are varied before, for each target.
    pub cases: usize,
    /// Of evaluate, for each target.
    pub evaluate: usize,
}

/// Calls that are sent in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BatchedCalls {
    /// Those of judges.
    Judge,
    /// Those that write metrics, scenarios, and variations of prompts.
    Generate,
    /// Those of targets in conversations of one turn.
    SingleTurn,
    /// All of these.
    All,
}

impl BatchedCalls {
    /// What the calls are for.
    #[must_use]
    pub fn purposes(self) -> Vec<Purpose> {
        let judge = [Purpose::Judge];
        let generate = [
            Purpose::GenMetrics,
            Purpose::GenScenarios,
            Purpose::GenVariant,
            Purpose::GenVariation,
        ];
        let single_turn = [Purpose::TargetTurn];
        match self {
            Self::Judge => judge.to_vec(),
            Self::Generate => generate.to_vec(),
            Self::SingleTurn => single_turn.to_vec(),
            Self::All => [&judge[..], &generate, &single_turn].concat(),
        }
    }

    fn has(self, purpose: Purpose) -> bool {
        self.purposes().contains(&purpose)
    }
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
