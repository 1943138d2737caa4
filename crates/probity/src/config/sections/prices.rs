//! The list `prices`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Real;

/// The price of a model, in dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PriceEntry {
    /// The name on the wire.
    pub model: String,
    /// Only where this source serves it.
    pub source: Option<String>,
    /// For tokens sent.
    pub input: Real<0>,
    /// For tokens received.
    pub output: Real<0>,
    /// For tokens that the endpoint had cached.
    pub cached_input: Option<Real<0>>,
}
