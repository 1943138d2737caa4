//! Values as texts.

use serde_json::Value;

/// A text unchanged, any other value as JSON.
pub(crate) fn of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
