//! The section `generation`. Its defaults are small on purpose: a first run ends within a minute.

use schema::{Extra, GenerationRecord};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use smart_default::SmartDefault;

use crate::config::values::{Range, Whole};

/// How much is generated and simulated.
#[derive(Clone, Debug, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Generation {
    /// How many metrics.
    #[default(Range(4..=6))]
    pub metrics: Range,
    /// Scenarios for each metric; demographic variants not counted.
    #[default(Whole(2))]
    pub scenarios_per_metric: Whole<u32, 1>,
    /// The most exchanges in a conversation.
    #[default(Whole(4))]
    pub turns: Whole<u32, 1>,
    /// Conversations for each scenario and target.
    #[default(Whole(1))]
    pub num_samples: Whole<u32, 1>,
    /// The most rounds of tool calls that a target has in one turn: one with more than 100 runs in circles.
    #[default(Whole(10))]
    pub max_tool_steps: Whole<u32, 1, 100>,
}

impl Generation {
    pub(super) fn to_record(&self) -> GenerationRecord {
        GenerationRecord {
            metrics: Some(json!(self.metrics)),
            scenarios_per_metric: Some(*self.scenarios_per_metric),
            turns: Some(*self.turns),
            num_samples: Some(*self.num_samples),
            max_tool_steps: Some(*self.max_tool_steps),
            other: Extra::new(),
        }
    }
}
