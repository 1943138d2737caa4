//! Why a case could not be run or scored.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelErrorKind;

/// The kind of a case's failure. Such a case neither passed nor failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = crate::or_other_text)]
pub enum ErrorKind {
    /// No reply in time.
    ModelTimeout,
    /// No connection, or the endpoint answered with a server error.
    ModelUnreachable,
    /// The reply could not be used: not a completion, an empty one, or a judge without a usable verdict.
    InvalidResponse,
    /// The endpoint kept requesting a lower rate.
    RateLimited,
    /// The endpoint refused the key.
    AuthenticationFailed,
    /// Anything else; the message has the details. A kind that this version does not know is read as this one.
    #[serde(other)]
    Unknown,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::ModelTimeout,
        Self::ModelUnreachable,
        Self::InvalidResponse,
        Self::RateLimited,
        Self::AuthenticationFailed,
        Self::Unknown,
    ];

    /// The kind as in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelTimeout => "model_timeout",
            Self::ModelUnreachable => "model_unreachable",
            Self::InvalidResponse => "invalid_response",
            Self::RateLimited => "rate_limited",
            Self::AuthenticationFailed => "authentication_failed",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of a failed call. `status` is the HTTP status, if there was a reply.
    ///
    /// A timeout without a status cannot be distinguished from an unreachable endpoint; a caller that knows of a timeout
    /// uses [`ErrorKind::ModelTimeout`] itself. A call that was not made (over budget, cancelled) is not an error of a
    /// case.
    #[must_use]
    pub fn of_call(kind: ModelErrorKind, status: Option<u16>) -> Self {
        match (kind, status) {
            (_, Some(401 | 403)) => Self::AuthenticationFailed,
            (_, Some(408 | 504)) => Self::ModelTimeout,
            (ModelErrorKind::RateLimited, _) | (ModelErrorKind::CircuitOpen, Some(429)) => {
                Self::RateLimited
            }
            (ModelErrorKind::Malformed, _) => Self::InvalidResponse,
            (ModelErrorKind::Transient | ModelErrorKind::CircuitOpen, _) => Self::ModelUnreachable,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The part of a case's run that failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = crate::or_other_text)]
pub enum Stage {
    /// The target gave no reply.
    Target,
    /// The attacker gave no next message.
    Attacker,
    /// No rewritten prompt was returned.
    Variation,
    /// No score was returned.
    Judge,
    /// A stage that this version does not know.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_documented_names() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            let read: ErrorKind = serde_json::from_str(&format!("{:?}", kind.as_str())).unwrap();
            assert_eq!(read, kind);
        }
        let newer: ErrorKind = serde_json::from_str("\"gone_fishing\"").unwrap();
        assert_eq!(newer, ErrorKind::Unknown);
    }

    #[test]
    fn failed_calls_have_kinds() {
        let of = ErrorKind::of_call;
        assert_eq!(
            of(ModelErrorKind::Permanent, Some(401)),
            ErrorKind::AuthenticationFailed
        );
        assert_eq!(
            of(ModelErrorKind::RateLimited, Some(429)),
            ErrorKind::RateLimited
        );
        assert_eq!(
            of(ModelErrorKind::Transient, Some(504)),
            ErrorKind::ModelTimeout
        );
        assert_eq!(
            of(ModelErrorKind::Transient, None),
            ErrorKind::ModelUnreachable
        );
        assert_eq!(
            of(ModelErrorKind::Malformed, Some(200)),
            ErrorKind::InvalidResponse
        );
        assert_eq!(of(ModelErrorKind::Permanent, Some(404)), ErrorKind::Unknown);
    }
}
