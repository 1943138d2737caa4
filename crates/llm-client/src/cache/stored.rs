//! What is stored of a reply.

use std::time::Duration;

use schema::{JsonText, Spend, Usage};

use crate::settings::Price;

/// What is stored of a reply: the raw response, which is parsed again when it is used. The request is not: it grows with every
/// turn, and whoever finds the reply has just made it.
#[derive(Debug)]
pub(super) struct StoredReply {
    pub(super) response: JsonText,
    pub(super) run_time: Duration,
    /// The attempts before it that failed but were billed.
    pub(super) failed: Spend,
}

/// A row of the file.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) response: String,
    pub(super) run_time_us: i64,
    pub(super) failed: Option<String>,
}

impl Row {
    /// `None` when the row does not hold what it should.
    pub(super) fn into_reply(self) -> Option<StoredReply> {
        let failed = match &self.failed {
            None => Spend::default(),
            Some(text) => serde_json::from_str(text).ok()?,
        };
        Some(StoredReply {
            // Whoever uses it reads it, and finds out whether it is one.
            response: JsonText::proven(self.response),
            run_time: duration(self.run_time_us)?,
            failed,
        })
    }
}

/// A time as it is stored, in microseconds.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// The reverse of [`micros`]; `None` for what it never gives.
pub(super) fn duration(micros: i64) -> Option<Duration> {
    u64::try_from(micros).ok().map(Duration::from_micros)
}

/// What failed attempts cost at today's price.
///
/// A stored sum does not tell why an attempt has no price. Where all have none and there are tokens, the model's price was
/// not known then; where only some have none, those came without usage and stay without a price.
pub(super) fn repriced(mut spend: Spend, price: Option<&Price>) -> Spend {
    let Some(price) = price else {
        spend.priced_cost = 0.0;
        spend.unpriced_calls = spend.calls;
        return spend;
    };
    let tokens = spend.input_tokens + spend.output_tokens;
    if spend.unpriced_calls == spend.calls && tokens == 0 {
        return spend;
    }
    spend.priced_cost = price.cost(&Usage {
        input_tokens: spend.input_tokens,
        cached_input_tokens: spend.cached_input_tokens,
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
