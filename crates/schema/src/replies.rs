//! How many conversations have replies that are empty or cut off, and how many replies have reasoning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// Conversations of one system under test that have an empty or a cut-off reply. A judge reads only the existing text, and text
/// that was never written cannot fail a negative metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncompleteReplies {
    /// The system under test.
    pub sut: ModelId,
    /// Its conversations that finished.
    pub conversations: u64,
    /// The conversations with a reply that is empty or cut off. A conversation can count in several of the numbers below.
    pub incomplete: u64,
    /// The conversations with a reply that the token limit cut off.
    pub cut_off: u64,
    /// The conversations with a reply that the provider's filter stopped.
    pub filtered: u64,
    /// The conversations with a reply without any text that ended for another reason. A tool call is not an empty reply.
    pub empty: u64,
}

/// Replies of one system under test that came with reasoning, and replies that seem to still contain some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningReplies {
    /// The system under test.
    pub sut: ModelId,
    /// All its replies in conversations that finished, including those that call tools.
    pub replies: u64,
    /// The replies with separate reasoning, which no judge reads.
    pub with_reasoning: u64,
    /// The replies with reasoning that ended before anything was said.
    pub never_answered: u64,
    /// The replies without reasoning that have a closing tag, such as `</think>`, without an opening one. Such a reply counts
    /// as said in full.
    pub unopened: u64,
}

impl ReasoningReplies {
    /// Whether there is anything to report.
    #[must_use]
    pub fn any(&self) -> bool {
        self.with_reasoning > 0 || self.unopened > 0
    }
}
