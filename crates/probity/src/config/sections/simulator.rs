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
    /// How often a message with which the simulated user falls out of its role, or that cannot be read, is generated again. A
    /// conversation in which it is still faulty then has no verdict.
    #[default(Whole(2))]
    pub fault_retries: Whole<u32, 0, 20>,
}

impl SimulatorSection {
    /// How often the user model is called for one message at most.
    pub fn tries(&self) -> u32 {
        *self.fault_retries + 1
    }
}
