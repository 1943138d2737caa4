//! Conversations that the other side keeps: the rule that a turn goes only to one that has seen the earlier ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{CallContext, Message, Role};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::app::Cookies;

/// A conversation that the other side keeps. It belongs to one attempt of a row, and is never stored.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its id, new for each sample and attempt.
    pub conversation: String,
    /// What was taken when it was opened.
    pub session: Value,
    pub(crate) cookies: Cookies,
    /// A digest of the messages that it has seen, and its last reply.
    seen: Option<([u8; 32], String)>,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    /// One that has seen nothing, with an id of its own.
    #[must_use]
    pub fn new() -> Self {
        let mut bytes = [0; 12];
        fastrand::fill(&mut bytes);
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            conversation: format!("probity-{id}"),
            session: Value::Null,
            cookies: Cookies::default(),
            seen: None,
        }
    }

    /// Notes that the other side has seen `messages`, and answered with `reply`.
    pub fn saw<'m>(&mut self, messages: impl IntoIterator<Item = &'m Message>, reply: &str) {
        self.seen = Some((digest(messages), reply.to_owned()));
    }

    /// Whether it has seen exactly these messages, up to and including its own last reply.
    fn has_seen(&self, earlier: &[Message]) -> bool {
        match (&self.seen, earlier.split_last()) {
            (Some((seen, reply)), Some((last, before))) => {
                last.content.as_ref() == reply && digest(before) == *seen
            }
            _ => false,
        }
    }
}

/// The messages that the other side has answered already: up to its own last one.
#[must_use]
pub fn earlier(messages: &[Message]) -> &[Message] {
    let last = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    messages
        .get(..last.map_or(0, |at| at + 1))
        .unwrap_or_default()
}

fn digest<'m>(messages: impl IntoIterator<Item = &'m Message>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for message in messages {
        let text = &message.content;
        hash.update(message.role.as_str());
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().into()
}

/// A row and its sample; an attempt has a row of its own.
type Key = (Arc<str>, u32);

/// All open conversations.
#[derive(Debug, Default)]
pub struct Lives(Mutex<HashMap<Key, Live>>);

impl Lives {
    /// Takes the conversation of `context`, if it is open.
    pub fn take(&self, context: &CallContext) -> Option<Live> {
        self.all().remove(&key(context))
    }

    /// Takes it if it has seen exactly `earlier`. A conversation that begins, without earlier messages, goes on with none.
    ///
    /// # Errors
    /// The conversation that has not, to be closed; `None` if there is none.
    pub fn take_seen(
        &self,
        context: &CallContext,
        earlier: &[Message],
    ) -> Result<Live, Option<Box<Live>>> {
        match self.take(context) {
            Some(live) if !earlier.is_empty() && live.has_seen(earlier) => Ok(live),
            other => Err(other.map(Box::new)),
        }
    }

    /// Puts it back for the next turn.
    pub fn put(&self, context: &CallContext, live: Live) {
        self.all().insert(key(context), live);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &CallContext) -> Key {
    (Arc::clone(&context.row), context.sample)
}

/// A number for the sampling of a row by a program or an application, the same in each run.
#[must_use]
pub fn row_seed(context: &CallContext) -> u32 {
    let mut hash = Sha256::new();
    hash.update(context.row.as_bytes());
    hash.update(context.sample.to_le_bytes());
    let digest = hash.finalize();
    digest
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
