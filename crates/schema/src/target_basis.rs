//! What the results of a target rest on beside its rows: how old its replies are, and which of its calls are assumed to be free.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// Says that a model costs nothing because it runs on this machine.
pub const ASSUMED_FREE: &str = "assumed free: on this machine";

/// Some replies, and when the first and the last of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplySpan {
    /// How many.
    pub replies: u64,
    /// When the first came.
    pub first: SystemTime,
    /// When the last came.
    pub last: SystemTime,
}

impl ReplySpan {
    /// One reply.
    #[must_use]
    pub fn one(at: SystemTime) -> Self {
        Self {
            replies: 1,
            first: at,
            last: at,
        }
    }

    /// Adds the replies of `other`.
    pub fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// The age of a target's replies, as files and reports have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyAges {
    /// How many replies.
    pub replies: u64,
    /// When the first came: RFC 3339, UTC.
    pub from: String,
    /// When the last came.
    pub to: String,
}

/// What the results of a target rest on. A fact that is not on record is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetBasis {
    /// The target.
    pub target: ModelId,
    /// The target's version in the configuration; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How old the replies are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<ReplyAges>,
    /// Models whose calls are assumed to be free, because they run on this machine and have no price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed_free: Vec<String>,
}

impl TargetBasis {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.version.is_none() && self.replies.is_none() && self.assumed_free.is_empty()
    }
}

impl ReplyAges {
    /// `from 2026-11-02 to 2026-11-20`, or `of 2026-11-02` for replies of one day.
    #[must_use]
    pub fn days(&self) -> String {
        let day = |time: &str| time.split('T').next().unwrap_or_default().to_owned();
        match (day(&self.from), day(&self.to)) {
            (from, to) if from == to => format!("of {from}"),
            (from, to) => format!("from {from} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_day_is_no_span() {
        let ages = |from: &str, to: &str| ReplyAges {
            replies: 240,
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let days = ages("2026-11-02T23:59:59Z", "2026-11-20T00:00:00Z").days();
        assert_eq!(days, "from 2026-11-02 to 2026-11-20");
        let day = ages("2026-11-02T01:00:00Z", "2026-11-02T02:00:00Z").days();
        assert_eq!(day, "of 2026-11-02");
    }
}
