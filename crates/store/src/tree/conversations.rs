//! One pass over a `conversations.json`.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    ops::ControlFlow,
    path::Path,
    sync::Arc,
};

use aggregator::{ConversationKey, ConversationRow};
use schema::{Benchmark, Conversation, ModelId, TargetRef};

use super::score_check::ConversationIds;
use crate::{
    ReplyTally, RunError,
    rows::{Normalizer, each_row_of},
};

/// What identifies the conversations of a target: the first one, and keys of the replies of all. A million take 36 MB.
#[derive(Debug, Default)]
pub struct ConversationIndex {
    /// The first conversation, as [`read_conversations`](crate::read_conversations) returns it without scenarios.
    pub first: Option<Conversation>,
    replies: HashMap<u64, u64>,
    /// Whether the target gave any reply.
    pub replied: bool,
}

impl ConversationIndex {
    /// Adds a conversation with the keys of its replies, see [`aggregator::reply_key`]. A conversation that is added twice counts once.
    pub fn add(&mut self, prompt_id: &str, replies: impl Iterator<Item = u64>) {
        let replies: Vec<u64> = replies.collect();
        self.replied |= !replies.is_empty();
        self.replies.insert(hash_of(prompt_id), hash_of(replies));
    }

    /// The number of conversations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.replies.len()
    }

    /// Whether there is no conversation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    /// Whether the conversation has these replies. Both are keys: [`prompt_key`](Self::prompt_key), [`replies_key`](Self::replies_key).
    #[must_use]
    pub fn has(&self, prompt: u64, replies: u64) -> bool {
        self.replies.get(&prompt) == Some(&replies)
    }

    /// The key of a conversation, for [`has`](Self::has).
    #[must_use]
    pub fn prompt_key(prompt_id: &str) -> u64 {
        hash_of(prompt_id)
    }

    /// The key of all replies of a conversation, for [`has`](Self::has).
    #[must_use]
    pub fn replies_key(replies: &[u64]) -> u64 {
        hash_of(replies)
    }
}

fn hash_of(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// What the rows of a `conversations.json` say about a target.
#[derive(Debug)]
pub(super) struct ConversationFacts {
    /// `None`: a row has an id and nothing that can be counted.
    pub(super) replies: Option<ReplyTally>,
    /// `None`: a row cannot be counted.
    pub(super) index: Option<Arc<ConversationIndex>>,
    pub(super) ids: ConversationIds,
}

fn first_reader<'a>(benchmark: &'a Benchmark, target: &ModelId) -> Normalizer<'a> {
    let target = TargetRef {
        id: target.clone(),
        model: String::new(),
    };
    Normalizer::new(target, benchmark, &[])
}

/// Reads the rows of the file at `path` from `file`. Rows of metrics that the benchmark does not have are not counted.
///
/// # Errors
/// When the file cannot be read, or is not a list of conversations.
pub(super) fn read_facts(
    path: &Path,
    file: impl Read,
    benchmark: &Benchmark,
    target: &ModelId,
) -> Result<ConversationFacts, RunError> {
    let reader = first_reader(benchmark, target);
    let mut replies = Some(ReplyTally::default());
    let mut index = Some(ConversationIndex::default());
    let mut ids = ConversationIds::default();
    each_row_of(path, file, |row| {
        if let Some(index) = &mut index
            && index.is_empty()
        {
            index.first = reader.row(row).ok();
        }
        match row.parse::<ConversationRow>() {
            Ok(row) => {
                ids.add(&row.conversation(target), &row.id);
                if let Some(index) = &mut index {
                    index.add(
                        &Conversation::prompt_id(&row.id, row.sample()),
                        row.reply_keys(),
                    );
                }
                if let Some(replies) = &mut replies
                    && benchmark.metric(&row.metric_id).is_some()
                {
                    replies.add_row(&row, target);
                }
            }
            // Rows of other programs may have nothing but an id.
            Err(_) => {
                let key: ConversationKey = row.parse()?;
                ids.add(&key.conversation(target), &key.id);
                (replies, index) = (None, None);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ConversationFacts {
        replies,
        index: index.map(Arc::new),
        ids,
    })
}
