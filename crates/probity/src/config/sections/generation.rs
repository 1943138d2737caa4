//! The section `generation`. Its defaults are small on purpose: a first run ends within a minute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::{Range, Whole};

/// How much is generated and simulated.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Generation {
    /// How many metrics.
    pub metrics: Range,
    /// Scenarios for each metric; demographic variants not counted.
    pub scenarios_per_metric: Whole<u32, 1>,
    /// The most exchanges in a conversation.
    pub turns: Whole<u32, 1>,
    /// Conversations for each scenario and target.
    pub num_samples: Whole<u32, 1>,
    /// The most rounds of tool calls that a target has in one turn: one with more than 100 runs in circles.
    pub max_tool_steps: Whole<u32, 1, 100>,
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            metrics: Range(4..=6),
            scenarios_per_metric: Whole(2),
            turns: Whole(4),
            num_samples: Whole(1),
            max_tool_steps: Whole(10),
        }
    }
}
