//! What goes wrong with programs.

use std::time::Duration;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProcessError {
    /// What it means.
    pub kind: ErrorKind,
    /// For people. No secret is in it.
    pub message: String,
    /// How long the program asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the program may have seen the request.
    pub is_seen: bool,
    /// Whether all attempts are over: the error of a call that the program passes on.
    pub is_final: bool,
}

/// What an error means, and what the host does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It may succeed later.
    Retryable,
    /// A lower rate is requested.
    RateLimited,
    /// The answer is useless.
    Malformed,
    /// A provider's filter refused the content.
    Refused,
    /// It will fail again.
    Permanent,
    /// The process ended, or does not know the conversation.
    Lost,
    /// The run is stopping.
    Cancelled,
    /// The budget is spent.
    OverBudget,
    /// The program died so often that it is not started again.
    Unavailable,
}

impl ErrorKind {
    /// The kind with this name in the protocol. A name that is not known means [`Permanent`](Self::Permanent).
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "retryable" => Self::Retryable,
            "rate_limited" => Self::RateLimited,
            "malformed" => Self::Malformed,
            "refused" => Self::Refused,
            "lost" => Self::Lost,
            "cancelled" => Self::Cancelled,
            "over_budget" => Self::OverBudget,
            "unavailable" => Self::Unavailable,
            _ => Self::Permanent,
        }
    }

    /// The name in the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retryable => "retryable",
            Self::RateLimited => "rate_limited",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Permanent => "permanent",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::OverBudget => "over_budget",
            Self::Unavailable => "unavailable",
        }
    }
}

impl ProcessError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            is_seen: true,
            is_final: false,
        }
    }
}

/// Why a program cannot be used at all. The text names it and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct StartError {
    pub(crate) name: String,
    pub(crate) reason: String,
}
