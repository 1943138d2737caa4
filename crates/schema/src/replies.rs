//! How many conversations hold replies that are empty or cut off, and how many replies hold reasoning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// Conversations of one system under test that hold an empty or a cut-off reply. A judge reads what there is of them, and what
/// was never said cannot fail a negative metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncompleteReplies {
    /// The system under test.
    pub sut: ModelId,
    /// Its conversations that were finished.
    pub conversations: u64,
    /// Those of them that hold a reply that is empty or cut off. One of them can count in several of the numbers below.
    pub incomplete: u64,
    /// Those with a reply that the token limit cut off.
    pub cut_off: u64,
    /// Those with a reply that the provider's filter stopped.
    pub filtered: u64,
    /// Those with a reply without any text that ended for another reason. A call of a tool is not an empty reply.
    pub empty: u64,
}

/// Replies of one system under test that came with reasoning, and those that look as if some of it were left in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningReplies {
    /// The system under test.
    pub sut: ModelId,
    /// All its replies in conversations that were finished, those that call tools included.
    pub replies: u64,
    /// Those with reasoning beside what was said: no judge reads it.
    pub with_reasoning: u64,
    /// Those of them that ended before anything was said.
    pub never_answered: u64,
    /// Those without reasoning that say a closing tag, as `</think>`, which nothing opened. All of such a reply counts as said.
    pub unopened: u64,
}

impl ReasoningReplies {
    /// Whether there is anything to report.
    #[must_use]
    pub fn any(&self) -> bool {
        self.with_reasoning > 0 || self.unopened > 0
    }
}
