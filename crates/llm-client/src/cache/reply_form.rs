//! How the replies of one model are stored, and read again.

use std::{sync::Arc, time::SystemTime};

use schema::{ChatReply, ChatRequest, Exchange, JsonText, Origin, Spend, Usage};
use serde_json::value::to_raw_value;

use super::{CacheKey, KeyMaker, StoredReply};
use crate::{
    ReplyBody,
    scrub::Scrubber,
    settings::{ModelSettings, Price},
    wire::{self, Blocks, Body, Form},
};

/// How the replies of one model are stored: their keys, their content, and how they are read by today's settings.
#[derive(Debug)]
pub(crate) struct ReplyForm {
    keys: KeyMaker,
    settings: ModelSettings,
    /// The endpoint's address, as stored.
    endpoint: String,
    /// The form of requests as the settings ask for it.
    form: Form,
    scrubber: Scrubber,
}

impl ReplyForm {
    /// The form of the replies of the model of `settings`.
    pub(crate) fn new(settings: &ModelSettings) -> Self {
        let endpoint = settings.cache_name.clone();
        Self {
            keys: KeyMaker::new(settings),
            settings: settings.clone(),
            endpoint: endpoint.unwrap_or_else(|| settings.endpoint()),
            form: Form::of(settings),
            scrubber: Scrubber::new(settings),
        }
    }

    /// The settings of the model.
    pub(crate) fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// The key of the reply to `request`.
    pub(crate) fn key(&self, request: &ChatRequest) -> CacheKey {
        self.keys.key(request)
    }

    /// Reads a stored reply; `None` when neither its wire text nor its body can be used.
    pub(crate) fn read(
        &self,
        request: &ChatRequest,
        stored: StoredReply,
        origin: Origin,
    ) -> Option<ChatReply> {
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
            ..body.into_reply(origin, exchange)
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

    /// `reply` as it is stored.
    pub(crate) fn stored(&self, reply: &ChatReply) -> StoredReply {
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

/// The cost of failed attempts at today's price.
///
/// A stored sum does not show why an attempt has no price. If no attempt has one and there are tokens, the model's price was
/// not known then. If only some have none, those attempts had no usage and stay without a price.
fn repriced(mut spend: Spend, price: Option<&Price>) -> Spend {
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
