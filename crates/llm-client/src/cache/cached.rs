//! The layer that asks the cache first.

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, Origin, Purpose,
};

use super::{
    Cache, Found, KeyMaker,
    stored::{StoredReply, repriced},
    writer::Outcome,
};
use crate::{settings::Price, wire};

/// Answers from a [`Cache`] what was asked before, and stores what was not. Only good replies are stored, and
/// [`Purpose::Probe`] never is.
///
/// Calls for the same key that come at the same time are made once. A stored reply is parsed like a fetched one, and costs
/// what the model costs now. Replies without a raw exchange, of `ChatModel`s of one's own, are passed on and not stored.
#[derive(Debug)]
pub struct Cached<M> {
    inner: M,
    cache: Cache,
    keys: KeyMaker,
    price: Option<Price>,
}

impl<M: ChatModel> Cached<M> {
    /// Puts `cache` before `inner`, which asks the model of `settings`.
    #[must_use]
    pub fn new(inner: M, cache: Cache, settings: &crate::ModelSettings) -> Self {
        Self {
            inner,
            cache,
            keys: KeyMaker::new(settings),
            price: settings.price,
        }
    }

    /// The stored reply as a reply; `None` when it does not parse any more.
    fn replay(&self, stored: StoredReply, origin: Origin) -> Option<ChatReply> {
        let parsed = wire::parse(stored.exchange.response.get()).ok()?;
        let cost = parsed
            .cost
            .or_else(|| Some(self.price?.cost(parsed.usage.as_ref()?)));
        Some(ChatReply {
            content: parsed.content,
            reasoning: parsed.reasoning,
            finish: parsed.finish,
            usage: parsed.usage,
            cost,
            failed_attempts: repriced(stored.failed, self.price.as_ref()),
            model: parsed.model,
            origin,
            run_time: stored.run_time,
            exchange: Some(stored.exchange),
        })
    }

    /// A usable stored reply, or whether a useless one must be replaced.
    fn look(&self, key: &super::CacheKey) -> Result<Result<ChatReply, bool>, ModelError> {
        let found = self.cache.lookup(key).map_err(|error| {
            let text = format!("{error} (model {})", self.inner.id());
            ModelError::new(ModelErrorKind::Permanent, text).with_source(error)
        })?;
        Ok(match found {
            Found::Nothing => Err(false),
            Found::Damaged => Err(true),
            Found::Reply(stored) => self.replay(stored, Origin::Cached).ok_or(true),
        })
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
        let key = self.keys.key(request);
        // Entered before looking: whoever waited for another call finds its reply.
        let _flight = self.cache.shared.flights.enter(key).await;
        let replace = match self.look(&key)? {
            Ok(reply) => {
                self.cache.hit();
                return Ok(reply);
            }
            Err(replace) => replace,
        };
        self.cache.miss();
        let reply = self.inner.chat(request).await?;
        let Some(exchange) = reply.exchange.clone() else {
            return Ok(reply);
        };
        let stored = StoredReply {
            exchange,
            run_time: reply.run_time,
            failed: reply.failed_attempts,
        };
        match self.cache.store(key, stored, replace).await {
            Outcome::Stored | Outcome::Failed => Ok(reply),
            // Both were paid for. Counted as fetched, so that this run's bill holds one of them.
            Outcome::Beaten(first) => Ok(self.replay(first, Origin::Fetched).unwrap_or(reply)),
        }
    }
}
