//! The section `retries`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::{Length, Whole};

/// What happens to calls with a transient failure.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Retries {
    /// The most attempts of a call, the first included.
    pub max_attempts: Whole<u32, 1>,
    /// How long a model may go without a good reply before its remaining calls fail at once.
    pub circuit_breaker: Length,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            max_attempts: Whole(10),
            circuit_breaker: Length(Duration::from_secs(180)),
        }
    }
}
