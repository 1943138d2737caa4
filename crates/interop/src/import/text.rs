//! Helpers for texts in both formats.

use serde_json::Value;

/// JSON without white space, in the form in which models write the arguments of a call.
pub(super) fn json_text(value: &Value) -> String {
    value.to_string()
}

/// `object` without the keys in `drop`, and without nulls and empty lists.
pub(super) fn known(mut object: schema::Extra, drop: &[&str]) -> schema::Extra {
    object.retain(|key, value| {
        !value.is_null()
            && !drop.contains(&key.as_str())
            && value.as_array().is_none_or(|list| !list.is_empty())
    });
    object
}
