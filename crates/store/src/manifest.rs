//! `manifest.json`: what a run was, so that its numbers can be trusted and made again.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The record of one run: `.probity/runs/<run id>/manifest.json`. It is written when the run starts, with `end` null, and
/// again when it ends.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Manifest {
    /// Version of this format.
    pub format_version: &'static str,
    /// The run's id.
    pub run_id: String,
    /// Version of Probity.
    pub probity_version: &'static str,
    /// `{revision, dirty}` of the folder that the run was started in; null where it is not a git tree.
    pub git: Value,
    /// When the run started, UTC.
    pub start: String,
    /// When it ended, UTC; null while it runs, and for ever when it was killed.
    pub end: Option<String>,
    /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`; null while it runs.
    pub outcome: Option<&'static str>,
    /// The benchmarks asked for.
    pub benchmarks: Vec<String>,
    /// The phases asked for.
    pub phases: Vec<&'static str>,
    /// The targets that ran.
    pub targets: Vec<schema::TargetRef>,
    /// The resolved configuration without secrets.
    pub config: Value,
    /// By model id, the names that the endpoints gave for the model that answered.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub models: Value,
    /// By benchmark: fingerprints of the phases, counts, costs and failures.
    #[schemars(with = "BTreeMap<String, schema::Extra>")]
    pub results: BTreeMap<String, Value>,
}
