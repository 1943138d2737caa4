//! Metadata that Probity itself wrote into a row.

use schema::{Extra, MetricType, Scenario};
use serde_json::json;

/// The text under `key`.
pub(super) fn text_of(metadata: &Extra, key: &str) -> Option<String> {
    metadata.get(key)?.as_str().map(str::to_owned)
}

/// The number under `key`, which is stored as a text.
pub(super) fn number(metadata: &Extra, key: &str) -> Option<u32> {
    text_of(metadata, key)?.parse().ok()
}

/// Fields of scenarios and conversations that a text cannot replace. `tools` is one of them: it names tools whose answers are not in
/// the format, and without answers no conversation can be simulated.
const FIELDS: [&str; 24] = [
    "id",
    "metric_id",
    "metric_name",
    "metric_type",
    "persona",
    "user_persona",
    "user_goal",
    "latent_adversarial_goal",
    "landmarks",
    "demographic",
    "target_system_prompt",
    "tools",
    "world_state",
    "conv_id",
    "target",
    "sample",
    "_sample",
    "transcript",
    "error",
    "_simulator_faults",
    "_simulator_check",
    "_realism",
    "_usage",
    "imported",
];

/// The scenario, if Probity wrote the row. Its values are texts here; landmarks and tool names are left out.
pub(super) fn own(metadata: &Extra) -> Option<Scenario> {
    let text = |key: &str| text_of(metadata, key);
    text("conv_id")?;
    text("target_id")?;
    let metric_type: Option<MetricType> =
        text("metric_type").and_then(|of| serde_json::from_value(json!(of)).ok());
    let mut scenario = Scenario {
        id: text("scenario_id")?,
        metric_id: text("metric_id")?,
        metric_name: text("metric_name"),
        metric_type,
        persona: text("persona").unwrap_or_default(),
        user_goal: text("user_goal").unwrap_or_default(),
        latent_adversarial_goal: text("latent_adversarial_goal").unwrap_or_default(),
        world_state: text("scenario.world_state"),
        ..Scenario::default()
    };
    for (key, value) in metadata {
        if let Some(axis) = key.strip_prefix("demographic.") {
            scenario.demographic.insert(axis.to_owned(), value.clone());
        } else if let Some(key) = key.strip_prefix("scenario.")
            && !FIELDS.contains(&key)
        {
            scenario.extra.insert(key.to_owned(), value.clone());
        }
    }
    Some(scenario)
}
