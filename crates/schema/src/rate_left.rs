//! What an endpoint says is left of its limits.

use std::time::Duration;

/// What an endpoint says, with a reply, is left of one of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLeft {
    /// What is limited.
    pub unit: RateUnit,
    /// How many are left.
    pub left: u64,
    /// The time from the reply until all of the limit is there again.
    pub resets_in: Duration,
}

/// What a limit of an endpoint counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateUnit {
    /// Requests.
    Requests,
    /// Tokens of requests and replies.
    Tokens,
    /// Tokens of requests, without those that come from the provider's cache.
    InputTokens,
    /// Tokens of replies.
    OutputTokens,
}

impl RateUnit {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Requests,
        Self::Tokens,
        Self::InputTokens,
        Self::OutputTokens,
    ];
}
