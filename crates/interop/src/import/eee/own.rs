//! Metadata that Probity itself wrote into a row.

use schema::{Extra, MetricType, ROW_KEYS, Scenario};
use serde_json::json;

/// The text under `key`.
pub(super) fn text_of(metadata: &Extra, key: &str) -> Option<String> {
    metadata.get(key)?.as_str().map(str::to_owned)
}

/// The number under `key`, which is stored as a text.
pub(super) fn number(metadata: &Extra, key: &str) -> Option<u32> {
    text_of(metadata, key)?.parse().ok()
}

/// The scenario, if Probity wrote the row. Its values are texts here, and a text cannot replace what a row holds under a key of its own:
/// landmarks are left out, and so is `tools`, which names tools whose answers are not in the format. Without answers no conversation can be
/// simulated.
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
            && !ROW_KEYS.contains(&key)
        {
            scenario.extra.insert(key.to_owned(), value.clone());
        }
    }
    Some(scenario)
}
