//! The section `limits`, of the configuration and of each model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Whole;

/// The load on an endpoint. `None`: no limit set by the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Limits {
    /// The most calls in flight.
    pub max_concurrency: Option<Whole<u32, 1>>,
    /// The most calls started per minute.
    pub requests_per_minute: Option<Whole<u32, 1>>,
    /// The most tokens per minute.
    pub tokens_per_minute: Option<Whole<u32, 1>>,
}
