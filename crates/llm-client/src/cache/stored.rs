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

/// What a look-up gave.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    /// A row that cannot be read any more.
    Damaged,
    Reply(StoredReply),
}

/// A row of the file, without its checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) key: &'a [u8],
    pub(super) created: i64,
    pub(super) run_time_us: i64,
    pub(super) failed: Option<&'a str>,
    pub(super) response: &'a str,
}

impl<'a> Row<'a> {
    /// The row of `key`, whose other columns are at `first` and behind it in `row`. `None`: there is something in one of them that nobody
    /// put there.
    pub(super) fn read(
        key: &'a [u8],
        row: &'a rusqlite::Row<'_>,
        first: usize,
    ) -> rusqlite::Result<Option<Self>> {
        let created = row.get_ref(first)?.as_i64();
        let run_time_us = row.get_ref(first + 1)?.as_i64();
        let failed = row.get_ref(first + 2)?.as_str_or_null();
        let response = row.get_ref(first + 3)?.as_str();
        let (Ok(created), Ok(run_time_us), Ok(failed), Ok(response)) =
            (created, run_time_us, failed, response)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            key,
            created,
            run_time_us,
            failed,
            response,
        }))
    }

    /// The CRC-32 of all that is in it. The key is part of it, so that a row which a damaged index leads to by another key is noticed.
    pub(super) fn checksum(&self) -> i64 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(self.key);
        sum.update(&self.created.to_le_bytes());
        sum.update(&self.run_time_us.to_le_bytes());
        // With its length, so that no two rows run together into the same bytes. No `failed` differs from an empty one.
        let failed = self.failed.map_or(u64::MAX, |failed| failed.len() as u64);
        sum.update(&failed.to_le_bytes());
        sum.update(self.failed.unwrap_or_default().as_bytes());
        sum.update(self.response.as_bytes());
        i64::from(sum.finalize())
    }

    /// `None` when the row does not hold what it should.
    pub(super) fn into_reply(self) -> Option<StoredReply> {
        let failed = match self.failed {
            None => Spend::default(),
            Some(text) => serde_json::from_str(text).ok()?,
        };
        Some(StoredReply {
            // Whoever uses it reads it, and finds out whether it is one.
            response: JsonText::proven(self.response.to_owned()),
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
