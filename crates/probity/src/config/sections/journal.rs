//! The section `journal`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The run's journal.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct JournalSection {
    /// Written as `.jsonl.zst`.
    pub compress: bool,
}
