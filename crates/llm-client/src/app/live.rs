//! Conversations that are open at a stateful application.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{CallContext, Message, Role};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// One conversation, open at the application. It belongs to one attempt of a row, and is never stored.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// Its id, new for each sample and attempt.
    pub(super) conversation: String,
    /// What was taken when it was opened.
    pub(super) session: Value,
    /// A digest of the messages that it has seen, and its last reply.
    seen: Option<([u8; 32], String)>,
}

impl Live {
    pub(super) fn new() -> Self {
        let mut bytes = [0; 12];
        fastrand::fill(&mut bytes);
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            conversation: format!("probity-{id}"),
            session: Value::Null,
            seen: None,
        }
    }

    /// Notes that the application has seen `messages`, and answered with `reply`.
    pub(super) fn saw(&mut self, messages: &[Message], reply: &str) {
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

/// The messages that the application has answered already: up to its own last one.
pub(super) fn earlier(messages: &[Message]) -> &[Message] {
    let last = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    messages
        .get(..last.map_or(0, |at| at + 1))
        .unwrap_or_default()
}

fn digest(messages: &[Message]) -> [u8; 32] {
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
pub(super) struct Lives(Mutex<HashMap<Key, Live>>);

impl Lives {
    /// Takes the conversation of `context`, if it is open.
    pub(super) fn take(&self, context: &CallContext) -> Option<Live> {
        self.all().remove(&key(context))
    }

    /// Takes it if it has seen exactly `earlier`. Another one is given back as the error, to be closed.
    pub(super) fn take_seen(
        &self,
        context: &CallContext,
        earlier: &[Message],
    ) -> Result<Live, Option<Live>> {
        match self.take(context) {
            Some(live) if live.has_seen(earlier) => Ok(live),
            other => Err(other),
        }
    }

    /// Puts it back for the next turn.
    pub(super) fn put(&self, context: &CallContext, live: Live) {
        self.all().insert(key(context), live);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &CallContext) -> Key {
    (Arc::clone(&context.row), context.sample)
}
