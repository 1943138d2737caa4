//! The layer that asks the cache first.

use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, ModelError, ModelErrorKind,
    ModelId, Origin, PhaseProgram, Purpose,
};

use super::{Cache, CacheMode, ReplyForm, StoreError};
use crate::settings::ModelSettings;

/// Answers repeated requests from a [`Cache`], and stores the replies to new ones. Failed calls are not stored, and
/// [`Purpose::Probe`] never is.
///
/// Calls for the same key at the same time are made once. A stored reply costs what the model costs now. A reply with wire text is
/// parsed like a fetched one, and its exchange shows the request as the settings build it now, with the parts that an endpoint
/// refused. Replies of `ChatModel`s without OpenAI's wire form are stored too, and are returned as they were, without an exchange.
#[derive(Debug)]
pub struct Cached<M> {
    inner: M,
    cache: Cache,
    replies: ReplyForm,
}

impl<M: ChatModel> Cached<M> {
    /// Puts `cache` before `inner`, the model of `settings`.
    #[must_use]
    pub fn new(inner: M, cache: Cache, settings: &ModelSettings) -> Self {
        Self {
            inner,
            cache,
            replies: ReplyForm::new(settings),
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Cached<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if request.context.purpose == Purpose::Probe {
            return self.inner.chat(request).await;
        }
        let key = self.replies.key(request);
        // Entered before the look-up, so that a call that waited for another one finds its reply.
        let _flight = self.cache.enter(&key).await;
        let found = match self.cache.get(&key, &request.context).await {
            Ok(None) => None,
            Ok(Some(stored)) => Some(self.replies.read(request, stored, Origin::Cached)),
            Err(StoreError::Damaged) => Some(None),
            Err(error) => {
                let text = format!("{error} (model {})", self.inner.id());
                return Err(ModelError::new(ModelErrorKind::Permanent, text).with_source(error));
            }
        };
        let counters = &self.cache.shared.counters;
        let damaged = found.is_some();
        if let Some(reply) = found.flatten() {
            counters.hits.fetch_add(1, Relaxed);
            if let Some(item) = &request.context.item {
                item.reply_found(key.as_bytes());
            }
            return Ok(reply);
        }
        counters.misses.fetch_add(1, Relaxed);
        if self.cache.shared.settings.mode == CacheMode::Only {
            let text = format!(
                "model {}: the cache has no reply to this call",
                self.inner.id()
            );
            return Err(ModelError::new(ModelErrorKind::Permanent, text).with_attempts(0));
        }
        let mut reply = self.inner.chat(request).await?;
        if damaged {
            // Counted after the call, because the look-ups of a forecast make no calls.
            counters.damaged.fetch_add(1, Relaxed);
        }
        let stored = self.replies.stored(&reply);
        // One time for a reply: a run that continues from the cache says the same as this one.
        reply.at = Some(stored.created);
        self.cache.put(&key, &stored).await;
        Ok(reply)
    }

    async fn conversation_room(&self) -> ConversationRoom {
        self.inner.conversation_room().await
    }

    async fn end_conversation(&self, context: &CallContext) {
        self.inner.end_conversation(context).await;
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.inner.phase_program()
    }
}
