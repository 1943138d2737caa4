//! Determines, by the replies, which journals report the conversations in a tree.
//!
//! A journal names its benchmark only by the folder's name, and runs in several folders of benchmarks may share their records.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use interop::Asked;
use schema::{Benchmark, Conversation, ModelId, Scenario, TargetRef};
use serde::{Deserialize, Serialize};

use super::{exchange::Exchange, reported_item::reply_keys};
use store::{BenchmarkDir, ConversationIndex, read_conversations, read_scenarios};

/// The replies of a tree's conversations, by target.
pub(super) struct Replies(BTreeMap<String, Arc<ConversationIndex>>);

impl Replies {
    /// Reads the conversations of `targets`, as far as they are readable: problems of a file are reported when it is exported.
    pub(super) fn read(dir: &BenchmarkDir, benchmark: &Benchmark, targets: &[ModelId]) -> Self {
        let read = |id: &ModelId| {
            let facts = dir.facts(benchmark, id).ok();
            let known = facts.and_then(|facts| facts.conversations.clone());
            let index = known.unwrap_or_else(|| Arc::new(read_index(dir, benchmark, id)));
            (id.to_string(), index)
        };
        Self(targets.iter().map(read).collect())
    }

    /// How many conversations of `target` a journal reports.
    pub(super) fn covered(&self, target: &str, reported: &ReportedReplies) -> Coverage {
        let mut coverage = Coverage {
            cached: reported.cached,
            ..Coverage::default()
        };
        for item in &reported.items {
            coverage.add_item(self.0.get(target).map(Arc::as_ref), item);
        }
        coverage
    }
}

/// The replies of a target that a journal reports, item by item.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportedReplies {
    /// Whether a reply of the target or a judge came from the cache, in any item.
    cached: bool,
    /// The items that ended.
    items: Vec<ReportedReply>,
}

/// The replies of one item.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "ReplyFields", into = "ReplyFields")]
struct ReportedReply {
    /// The key of the conversation.
    prompt: u64,
    /// The key of all its replies.
    replies: u64,
    /// Whether the item has no replies.
    is_empty: bool,
    origins: ReplyOrigins,
}

/// The fields of a [`ReportedReply`], as an index has them: a million in a few bytes each.
type ReplyFields = (u64, u64, bool, bool, bool);

impl From<ReplyFields> for ReportedReply {
    fn from((prompt, replies, is_empty, fetched, cached): ReplyFields) -> Self {
        Self {
            prompt,
            replies,
            is_empty,
            origins: ReplyOrigins { fetched, cached },
        }
    }
}

impl From<ReportedReply> for ReplyFields {
    fn from(reply: ReportedReply) -> Self {
        let ReplyOrigins { fetched, cached } = reply.origins;
        (reply.prompt, reply.replies, reply.is_empty, fetched, cached)
    }
}

impl ReportedReplies {
    /// Adds the origin of the reply to a call.
    pub(super) fn add_call(&mut self, origins: ReplyOrigins) {
        self.cached |= origins.cached;
    }

    /// The number of items that ended.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds an item that ended, by the keys of its replies.
    pub(super) fn add_keys(&mut self, prompt: &str, replies: &[u64], origins: ReplyOrigins) {
        self.items.push(ReportedReply {
            prompt: ConversationIndex::prompt_key(prompt),
            is_empty: replies.is_empty(),
            replies: ConversationIndex::replies_key(replies),
            origins,
        });
    }
}

/// How many of a target's conversations a journal reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coverage {
    /// Whether the journal reports a conversation of the tree.
    is_reported: bool,
    /// Items that ended.
    items: u64,
    /// Items whose replies equal those in the tree.
    same: u64,
    /// Rows in the tree.
    rows: u64,
    /// The origins of the replies that equal those in the tree.
    origins: ReplyOrigins,
    /// Whether a reply of the target or a judge came from the cache, in any item.
    pub(super) cached: bool,
}

/// The origins of replies of the target and of judges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyOrigins {
    fetched: bool,
    cached: bool,
}

impl ReplyOrigins {
    /// The origin of the reply to a call. `None` if the call failed, or is not one to the target or a judge.
    pub(super) fn of_call(by: Asked, call: &Exchange<'_>) -> Option<Self> {
        match by {
            Asked::Target | Asked::Judge if !call.has_failed() => Some(Self {
                fetched: !call.is_cached(),
                cached: call.is_cached(),
            }),
            _ => None,
        }
    }

    /// The origin of replies from the cache.
    pub(super) fn from_cache() -> Self {
        Self {
            fetched: false,
            cached: true,
        }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.fetched |= more.fetched;
        self.cached |= more.cached;
    }
}

impl Coverage {
    /// Whether the journal reports exactly the rows in the tree.
    pub(super) fn is_whole(self) -> bool {
        self.items == self.rows && self.same == self.rows
    }

    /// Whether every reply that the journal shares with the tree came from the cache.
    pub(super) fn is_cached(self) -> bool {
        self.origins.cached && !self.origins.fetched
    }

    /// Whether the journal reports a conversation of the tree.
    pub(super) fn is_reported(self) -> bool {
        self.is_reported
    }

    fn add_item(&mut self, of: Option<&ConversationIndex>, item: &ReportedReply) {
        self.items += 1;
        if let Some(of) = of {
            self.rows = of.len() as u64;
            if of.has(item.prompt, item.replies) {
                self.same += 1;
                self.origins.add(item.origins);
            }
            self.is_reported |= holds(of, item);
        }
    }
}

/// Whether the tree holds the item's conversation with the same replies. An item without replies proves nothing if other
/// conversations have some.
fn holds(of: &ConversationIndex, item: &ReportedReply) -> bool {
    of.has(item.prompt, item.replies) && item.is_empty != of.replied
}

/// Reads conversations whose facts are unknown: without scores, or with rows that only name their scenarios.
fn read_index(dir: &BenchmarkDir, benchmark: &Benchmark, id: &ModelId) -> ConversationIndex {
    let mut index = ConversationIndex::default();
    let Ok(files) = dir.target(id) else {
        return index;
    };
    let target = TargetRef {
        id: id.clone(),
        model: String::new(),
    };
    let mut read = |scenarios: &[Scenario]| {
        read_conversations(
            &files.conversations(),
            &target,
            benchmark,
            scenarios,
            |row| {
                let prompt = Conversation::prompt_id(&row.scenario.id, row.sample);
                index.add(&prompt, reply_keys(&row.transcript));
                ControlFlow::Continue(())
            },
        )
    };
    // Rows of older trees need their scenarios. A row that is read twice counts once.
    if read(&[]).is_err() {
        let _ = read(&read_scenarios(dir).unwrap_or_default());
    }
    index
}
