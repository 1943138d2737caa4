//! The section `cache`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::Length;

/// The response cache.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct CacheSection {
    /// Replies older than this are requested again. Default: never.
    pub expiry: Option<Length>,
}
