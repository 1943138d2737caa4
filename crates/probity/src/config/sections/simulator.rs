//! The section `simulator`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::config::values::Whole;

/// The simulated user.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, SmartDefault)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SimulatorSection {
    /// How often a message is generated again if the simulated user leaves its role in it, or it cannot be read. A
    /// conversation that is still faulty after that has no verdict.
    #[default(Whole(2))]
    pub fault_retries: Whole<u32, 0, 20>,
}

impl SimulatorSection {
    /// The most calls of the user model for one message.
    pub fn tries(&self) -> u32 {
        *self.fault_retries + 1
    }
}
