//! The layer that asks the cache first.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, Exchange, JsonText, ModelError, ModelErrorKind, ModelId,
    Origin, Purpose,
};

use super::{
    Cache, KeyMaker,
    stored::{Found, StoredReply, repriced},
};
use crate::{
    scrub::Scrubber,
    settings::ModelSettings,
    wire::{self, Blocks, Body, Form, KeptParts},
};

/// Answers from a [`Cache`] what was asked before, and stores what was not. Only good replies are stored, and
/// [`Purpose::Probe`] never is.
///
/// Calls for the same key that come at the same time are made once. A stored reply is parsed like a fetched one, and costs
/// what the model costs now. The request in its exchange is made anew by the settings; what an endpoint made us leave out of it
/// stands in it again. Replies without a raw exchange, of `ChatModel`s of one's own, are passed on and not stored.
#[derive(Debug)]
pub struct Cached<M> {
    inner: M,
    cache: Cache,
    keys: KeyMaker,
    settings: ModelSettings,
    /// The form of requests as the settings ask for it.
    form: Form,
    kept: KeptParts,
    scrubber: Scrubber,
}

impl<M: ChatModel> Cached<M> {
    /// Puts `cache` before `inner`, which asks the model of `settings`.
    #[must_use]
    pub fn new(inner: M, cache: Cache, settings: &ModelSettings) -> Self {
        Self {
            inner,
            cache,
            keys: KeyMaker::new(settings),
            settings: settings.clone(),
            form: Form::of(settings),
            kept: KeptParts::default(),
            scrubber: Scrubber::new(settings),
        }
    }

    /// The stored reply as a reply; `None` when it does not parse any more.
    fn replay(
        &self,
        request: &ChatRequest,
        stored: StoredReply,
        origin: Origin,
    ) -> Option<ChatReply> {
        let blocks = Blocks::of(request.context.purpose, self.settings.reasoning_opening);
        let parsed = wire::parse(stored.response.get(), blocks).ok()?;
        let price = self.settings.price;
        let cost = parsed
            .cost
            .or_else(|| Some(price?.cost(parsed.usage.as_ref()?)));
        let exchange = Exchange {
            request: self.sent(request)?,
            response: stored.response,
        };
        Some(ChatReply {
            content: parsed.content,
            reasoning: parsed.reasoning,
            tool_calls: parsed.tool_calls,
            finish: parsed.finish,
            usage: parsed.usage,
            cost,
            failed_attempts: repriced(stored.failed, price.as_ref()),
            model: parsed.model,
            origin,
            run_time: stored.run_time,
            exchange: Some(Arc::new(exchange)),
        })
    }

    /// The body of `request`, as the settings have it.
    fn sent(&self, request: &ChatRequest) -> Option<JsonText> {
        let body = Body {
            settings: &self.settings,
            request,
            form: self.form,
            kept: &self.kept,
        };
        let sent = body.json().ok()?;
        Some(JsonText::proven_line(self.scrubber.request(sent.into())))
    }

    /// A usable stored reply, or whether a useless one must be replaced.
    fn look(
        &self,
        request: &ChatRequest,
        key: &super::CacheKey,
    ) -> Result<Result<ChatReply, bool>, ModelError> {
        let found = self.cache.lookup(key).map_err(|error| {
            let text = format!("{error} (model {})", self.inner.id());
            ModelError::new(ModelErrorKind::Permanent, text).with_source(error)
        })?;
        Ok(match found {
            Found::Nothing => Err(false),
            Found::Damaged => Err(true),
            Found::Reply(stored) => self.replay(request, stored, Origin::Cached).ok_or(true),
        })
    }
}

/// How many bytes the raw response has, where there is one.
fn response_length(reply: &ChatReply) -> Option<usize> {
    let exchange = reply.exchange.as_ref()?;
    Some(exchange.response.as_bytes().len())
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
        let _flight = self.cache.shared.flights.enter(&key).await;
        let replace = match self.look(request, &key)? {
            Ok(reply) => {
                self.cache.hit();
                return Ok(reply);
            }
            Err(replace) => replace,
        };
        self.cache.miss();
        let reply = self.inner.chat(request).await?;
        if replace {
            // Counted where the call is made: a look that only wants to know what is cached makes none.
            self.cache.damage();
        }
        let Some(length) = response_length(&reply) else {
            return Ok(reply);
        };
        let writer = &self.cache.shared.writer;
        if writer.take_room(length) || Box::pin(writer.wait_for_room(length)).await {
            self.cache.add(&key, &reply, replace);
            // Replies often come several at a time. Those that came with this one get their turn first, and one write takes all.
            tokio::task::yield_now().await;
            writer.write_out();
        }
        Ok(reply)
    }
}
