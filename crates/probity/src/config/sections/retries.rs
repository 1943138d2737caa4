//! The section `retries`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::config::values::{Length, Whole};

/// Retries of calls with a transient failure.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, SmartDefault)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Retries {
    /// The most attempts of a call, including the first.
    #[default(Whole(10))]
    pub max_attempts: Whole<u32, 1>,
    /// The most times that a conversation is begun in a run whose target keeps it and lost it. 1 for targets whose turns act on the world.
    #[default(Whole(3))]
    pub conversation: Whole<u32, 1>,
    /// How long a model may go without a good reply before its remaining calls fail at once.
    #[default(Length(Duration::from_secs(180)))]
    pub circuit_breaker: Length,
}
