//! What a judge found in a sampled conversation: `_simulator_check` of a row of `conversations.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SimulatorFault;

/// A judge's reading of the simulated user's messages of one conversation of a sample. It takes no verdict from the row: the faults are
/// reported only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatorCheck {
    /// The judge's id.
    pub judge: String,
    /// The faults that it found.
    #[serde(default)]
    pub faults: Vec<SimulatorFault>,
    /// Why there is no answer: the judge could not be called, or gave no usable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
