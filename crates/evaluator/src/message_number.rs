//! The messages that a judge's reply names by their numbers.

use schema::{Extra, Turn, reply};
use serde_json::Value;

/// The number at the key `message`; `None` for a number that no message can have, such as -1 or 1.5.
///
/// # Errors
/// When the key is missing or not a number. The text can be sent back to the judge.
pub(crate) fn number(object: &Extra) -> Result<Option<u64>, String> {
    match object.get("message") {
        Some(Value::Number(number)) => Ok(number.as_u64()),
        Some(other) => Err(format!(
            "\"message\" is {}, not a number",
            reply::kind_of(other)
        )),
        None => Err("the key \"message\" is missing".to_owned()),
    }
}

/// The message with this number, from 1, and its index, from 0.
///
/// # Errors
/// When no message has the number. The text can be sent back to the judge.
pub(crate) fn message(number: Option<u64>, turns: &[Turn]) -> Result<(usize, &Turn), String> {
    let place = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    let message = place.and_then(|place| Some((place, turns.get(place)?)));
    message.ok_or_else(|| format!("there are messages 1 to {} only", turns.len()))
}
