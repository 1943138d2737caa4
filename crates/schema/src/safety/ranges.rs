//! Numbers with a range, and the errors outside it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a setting cannot be used: its name, the value, and the allowed range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is {value}, and must be {allowed}{hint}")]
pub struct SettingError {
    setting: String,
    value: String,
    allowed: String,
    hint: String,
}

impl SettingError {
    /// An error about `setting`. `allowed` completes the sentence "… and must be …".
    #[must_use]
    pub fn new(
        setting: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            setting: setting.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            hint: String::new(),
        }
    }

    pub(super) fn with_hint(mut self, hint: String) -> Self {
        self.hint = hint;
        self
    }
}

/// A number from 0 to 1.
pub(super) fn unit(setting: &str, value: f64) -> Result<f64, SettingError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value.abs()); // no -0
    }
    Err(SettingError::new(setting, value, "a number from 0 to 1"))
}

/// A share: a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(with = "f64", inline, extend("minimum" = 0, "maximum" = 1))]
pub struct Share(f64);

impl Share {
    /// Creates a share from `value`. `setting` is its name in the error.
    ///
    /// # Errors
    /// When `value` is not a number from 0 to 1.
    pub fn new(setting: &str, value: f64) -> Result<Self, SettingError> {
        unit(setting, value).map(Self)
    }

    /// The share as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = SettingError;
    fn try_from(value: f64) -> Result<Self, SettingError> {
        Self::new("the share", value)
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

/// The most messages of a conversation: an even number from 2 to 1000. 8 is four user and four assistant
/// messages. The user speaks first and the assistant last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(with = "u32", inline, extend("minimum" = 2, "maximum" = 1000, "multipleOf" = 2))]
pub struct MaxTurns(u32);

impl MaxTurns {
    /// The largest allowed number.
    pub const LARGEST: u32 = 1000;

    /// Creates the limit from `messages`.
    ///
    /// # Errors
    /// When `messages` is odd, 0 or above 1000.
    pub fn new(messages: u32) -> Result<Self, SettingError> {
        if (2..=Self::LARGEST).contains(&messages) && messages.is_multiple_of(2) {
            return Ok(Self(messages));
        }
        let allowed = "an even number from 2 to 1000: it counts messages, and a conversation ends on an assistant message";
        Err(SettingError::new("max-turns", messages, allowed))
    }

    /// The number of messages.
    #[must_use]
    pub fn messages(self) -> u32 {
        self.0
    }

    /// The number of exchanges: half the messages, at least 1.
    #[must_use]
    pub fn exchanges(self) -> u32 {
        self.0 / 2
    }
}

impl Default for MaxTurns {
    /// Four exchanges.
    fn default() -> Self {
        Self(8)
    }
}

impl TryFrom<u32> for MaxTurns {
    type Error = SettingError;
    fn try_from(messages: u32) -> Result<Self, SettingError> {
        Self::new(messages)
    }
}

impl From<MaxTurns> for u32 {
    fn from(turns: MaxTurns) -> Self {
        turns.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_and_zero_turns_are_refused() {
        for messages in [0, 1, 3, 7, 1001, 1002] {
            let error = MaxTurns::new(messages).unwrap_err().to_string();
            assert!(
                error.contains(&format!("max-turns is {messages}")),
                "{error}"
            );
            assert!(error.contains("even number"), "{error}");
        }
        assert_eq!(MaxTurns::new(8).unwrap().exchanges(), 4);
        serde_json::from_str::<MaxTurns>("5").unwrap_err();
    }
}
