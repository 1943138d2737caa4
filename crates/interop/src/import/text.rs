//! Texts that both formats share.

use serde_json::Value;

/// JSON without blanks, as models write the arguments of a call.
pub(super) fn json_text(value: &Value) -> String {
    value.to_string()
}

/// An object without the keys whose value is null, `drop` and empty lists.
pub(super) fn known(mut object: schema::Extra, drop: &[&str]) -> schema::Extra {
    object.retain(|key, value| {
        !value.is_null()
            && !drop.contains(&key.as_str())
            && value.as_array().is_none_or(|list| !list.is_empty())
    });
    object
}
