//! The section `judging`.

use evaluator::JudgeChecks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Portion;

/// Questions to judges beside their verdicts, to find out how far they can be relied on. All of it costs calls.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Judging {
    /// The share of the rows that are judged again.
    repeat: Portion,
    /// The share of the rows that are judged again with the examples reversed, and with a longer transcript.
    probes: Portion,
    /// Judges quote the messages that their verdicts rest on.
    quotes: bool,
    /// The first judge reads each conversation once it is simulated: which messages of the simulated user do not fit its role? A conversation
    /// with such a message has no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulator: bool,
    /// Judges read each conversation once it is simulated: does the target seem to know that it is being tested, how real does the simulated
    /// user sound? It decides nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub realism: bool,
}

impl Judging {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// As the evaluator takes it. `seed` decides, with the row, which rows the shares fall on.
    pub fn checks(&self, seed: u64) -> JudgeChecks {
        JudgeChecks {
            repeat: self.repeat.0,
            probes: self.probes.0,
            quotes: self.quotes,
            seed,
        }
    }
}
