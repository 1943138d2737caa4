//! How many conversations hold replies that are empty or cut off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// Conversations of one system under test that hold an empty or a cut-off reply. A judge reads what there is of them, and what
/// was never said cannot fail a negative metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncompleteReplies {
    /// The system under test.
    pub sut: ModelId,
    /// Its conversations that were played to their end.
    pub conversations: u64,
    /// Those of them that hold a reply that is empty or cut off. One of them can count in several of the numbers below.
    pub incomplete: u64,
    /// Those with a reply that the token limit cut off.
    pub cut_off: u64,
    /// Those with a reply that the provider's filter stopped.
    pub filtered: u64,
    /// Those with a reply without any text that ended for another reason. A call of a tool is no empty reply.
    pub empty: u64,
}
