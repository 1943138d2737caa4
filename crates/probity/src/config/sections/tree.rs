//! The section `tree`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the files of a benchmark are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct TreeSection {
    /// Conversations and scores are written as compressed files of 10,000 rows, with an index.
    pub segments: bool,
}

impl TreeSection {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
