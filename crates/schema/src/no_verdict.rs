//! Why a row has no verdict.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a row of `scores.json` has no verdict, or why a row of `conversations.json` cannot get one: its key `_no_verdict`.
///
/// The phase that gives up sets it. It is never derived from the text of an error; if the reason is unknown, the row lacks the
/// key.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// A call to a model failed for good: no reply, an error, or a reply that is not a chat completion.
    CallFailed,
    /// The filter of a provider stopped a request or a reply.
    ProviderRefused,
    /// The target's reply was empty.
    EmptyReply,
    /// The judge replied without a usable verdict.
    JudgeUnusable,
    /// The judge answered that the transcript does not show whether the behaviour is present.
    JudgeCannotTell,
    /// The simulated user, or a simulated tool, failed. This shows nothing about the target.
    SimulatorFault,
    /// The budget of the run did not allow the calls.
    Budget,
}

impl NoVerdict {
    /// All reasons, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::CallFailed,
        Self::ProviderRefused,
        Self::EmptyReply,
        Self::JudgeUnusable,
        Self::JudgeCannotTell,
        Self::SimulatorFault,
        Self::Budget,
    ];

    /// The name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallFailed => "call_failed",
            Self::ProviderRefused => "provider_refused",
            Self::EmptyReply => "empty_reply",
            Self::JudgeUnusable => "judge_unusable",
            Self::JudgeCannotTell => "judge_cannot_tell",
            Self::SimulatorFault => "simulator_fault",
            Self::Budget => "budget",
        }
    }

    /// The reason for people, after a number of rows: `2 call failed`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::CallFailed => "call failed",
            Self::ProviderRefused => "refused by the provider",
            Self::EmptyReply => "empty reply",
            Self::JudgeUnusable => "judge unusable",
            Self::JudgeCannotTell => "judge could not tell",
            Self::SimulatorFault => "simulator at fault",
            Self::Budget => "over budget",
        }
    }
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names() {
        for reason in NoVerdict::ALL {
            let text = serde_json::to_value(reason).unwrap();
            assert_eq!(text, reason.as_str());
            assert_eq!(serde_json::from_value::<NoVerdict>(text).unwrap(), reason);
        }
    }
}
