//! The list `prices`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Real;

/// The price of a model, in dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PriceEntry {
    /// The model's name in requests.
    pub model: String,
    /// Applies only to models of this source.
    pub source: Option<String>,
    /// For tokens sent.
    pub input: Real<0>,
    /// For tokens received.
    pub output: Real<0>,
    /// For tokens read from the endpoint's cache.
    pub cached_input: Option<Real<0>>,
}
