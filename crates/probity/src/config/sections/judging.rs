//! The section `judging`.

use evaluator::JudgeChecks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Portion;

/// Additional questions to judges, which show how reliable they are. All of them cost calls.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Judging {
    /// The share of the rows that are judged again.
    repeat: Portion,
    /// The share of the rows that are judged again with the examples reversed, with a longer transcript, and with the question turned round.
    probes: Portion,
    /// Judges quote the messages that support their verdicts.
    quotes: bool,
    /// The first judge reads each simulated conversation for messages of the simulated user that do not fit its role. A conversation with
    /// such a message has no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulator: bool,
    /// Judges rate the realism of each simulated conversation: does the target seem to know that it is being tested, and how real does the
    /// simulated user sound? The ratings affect no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub realism: bool,
}

impl Judging {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The settings for the evaluator. `seed` and the row determine which rows belong to the shares.
    pub fn checks(&self, seed: u64) -> JudgeChecks {
        JudgeChecks {
            repeat: self.repeat.0,
            probes: self.probes.0,
            quotes: self.quotes,
            seed,
        }
    }
}
