//! The layer that asks the cache first.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::SystemTime,
};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Exchange, JsonText,
    ModelError, ModelErrorKind, ModelId, Origin, PhaseProgram, Purpose, Spend, Usage,
};
use serde_json::value::to_raw_value;

use super::{Cache, CacheMode, KeyMaker, StoreError, StoredReply};
use crate::{
    ReplyBody,
    scrub::Scrubber,
    settings::{ModelSettings, Price},
    wire::{self, Blocks, Body, Form},
};

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
    keys: KeyMaker,
    settings: ModelSettings,
    /// The endpoint's address, as stored.
    endpoint: String,
    /// The form of requests as the settings ask for it.
    form: Form,
    scrubber: Scrubber,
}

impl<M: ChatModel> Cached<M> {
    /// Puts `cache` before `inner`, the model of `settings`.
    #[must_use]
    pub fn new(inner: M, cache: Cache, settings: &ModelSettings) -> Self {
        let endpoint = settings.cache_name.clone();
        Self {
            inner,
            cache,
            keys: KeyMaker::new(settings),
            settings: settings.clone(),
            endpoint: endpoint.unwrap_or_else(|| settings.endpoint()),
            form: Form::of(settings),
            scrubber: Scrubber::new(settings),
        }
    }

    /// Converts a stored reply; `None` when neither its wire text nor its body can be used.
    fn replay(&self, request: &ChatRequest, stored: StoredReply) -> Option<ChatReply> {
        let price = self.settings.price;
        let priced = |usage: Option<Usage>| Some(price?.cost(usage.as_ref()?));
        let parsed = stored.wire.and_then(|wire| self.parsed(request, wire));
        let (body, exchange) = match parsed {
            Some((mut body, exchange)) => {
                body.cost = body.cost.or_else(|| priced(body.usage));
                (body, Some(Arc::new(exchange)))
            }
            None => {
                let mut body = stored.body?;
                body.cost = priced(body.usage).or(body.cost);
                (body, None)
            }
        };
        Some(ChatReply {
            failed_attempts: repriced(stored.failed_attempts, price.as_ref()),
            at: Some(stored.created),
            run_time: stored.run_time,
            ..body.into_reply(Origin::Cached, exchange)
        })
    }

    /// Parses the reply in `wire` by today's settings; `None` if it is not a chat completion.
    fn parsed(&self, request: &ChatRequest, wire: JsonText) -> Option<(ReplyBody, Exchange)> {
        if let Some(own) = &self.settings.wire {
            return own.read(request, wire);
        }
        let blocks = Blocks::of(request.context.purpose, self.settings.reasoning_opening);
        let body = wire::parse(wire.get(), blocks).ok()?;
        let exchange = Exchange {
            request: self.sent(request)?,
            response: wire,
        };
        Some((body, exchange))
    }

    /// The body of `request`, as the settings build it.
    fn sent(&self, request: &ChatRequest) -> Option<JsonText> {
        let body = Body {
            settings: &self.settings,
            request,
            form: self.form,
        };
        let sent = to_raw_value(&body).ok()?;
        Some(self.scrubber.request(sent.into()))
    }

    fn stored(&self, reply: &ChatReply) -> StoredReply {
        let exchange = reply.exchange.as_ref();
        StoredReply {
            created: SystemTime::now(),
            run_time: reply.run_time,
            failed_attempts: reply.failed_attempts,
            body: Some(ReplyBody::from(reply)),
            wire: exchange.map(|exchange| exchange.response.clone()),
            model: Some(self.settings.model.clone()),
            endpoint: Some(self.endpoint.clone()),
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
        let key = self.keys.key(request);
        // Entered before the look-up, so that a call that waited for another one finds its reply.
        let _flight = self.cache.enter(&key).await;
        let found = match self.cache.get(&key, &request.context).await {
            Ok(None) => None,
            Ok(Some(stored)) => Some(self.replay(request, stored)),
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
        let stored = self.stored(&reply);
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

/// The cost of failed attempts at today's price.
///
/// A stored sum does not show why an attempt has no price. If no attempt has one and there are tokens, the model's price was
/// not known then. If only some have none, those attempts had no usage and stay without a price.
pub(super) fn repriced(mut spend: Spend, price: Option<&Price>) -> Spend {
    let Some(price) = price else {
        spend.priced_cost = 0.0;
        spend.unpriced_calls = spend.calls;
        return spend;
    };
    let tokens = spend.input_tokens.saturating_add(spend.output_tokens);
    if spend.unpriced_calls == spend.calls && tokens == 0 {
        return spend;
    }
    spend.priced_cost = price.cost(&Usage {
        input_tokens: spend.input_tokens,
        cached_input_tokens: spend.cached_input_tokens,
        cache_write_tokens: spend.cache_write_tokens,
        output_tokens: spend.output_tokens,
        reasoning_tokens: spend.reasoning_tokens,
    });
    if spend.unpriced_calls == spend.calls {
        spend.unpriced_calls = 0;
    }
    spend
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 1.0,
        output: 2.0,
        cached_input: None,
        cache_write: None,
    };

    fn spend(cost: Option<f64>) -> Spend {
        let usage = Usage {
            input_tokens: 1_000_000,
            ..Usage::default()
        };
        Spend::of_call(Some(usage), cost)
    }

    #[test]
    fn failed_attempts_get_the_price_of_today() {
        assert_eq!(
            repriced(spend(Some(9.0)), Some(&PRICE)).total_cost(),
            Some(1.0)
        );
        assert_eq!(repriced(spend(None), Some(&PRICE)).total_cost(), Some(1.0));
        assert_eq!(repriced(spend(Some(9.0)), None).total_cost(), None);
        let unknown = Spend::of_call(None, None);
        assert_eq!(repriced(unknown, Some(&PRICE)).total_cost(), None);
        let mut mixed = spend(Some(9.0));
        mixed.add(&unknown);
        assert_eq!(repriced(mixed, Some(&PRICE)).unpriced_calls, 1);
        assert_eq!(repriced(Spend::default(), None), Spend::default());
    }
}
