//! The section `budget`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::{Real, Whole};

/// The most that a run may spend.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Budget {
    /// In dollars. Needs a price for every model.
    max_cost: Option<Real<0>>,
    /// In tokens.
    max_tokens: Option<Whole<u64, 1>>,
}

impl Budget {
    /// The ceiling in dollars.
    pub fn dollars(&self) -> Option<f64> {
        self.max_cost.map(|dollars| dollars.0)
    }

    /// The ceiling in tokens.
    pub fn tokens(&self) -> Option<u64> {
        self.max_tokens.map(|tokens| *tokens)
    }
}
