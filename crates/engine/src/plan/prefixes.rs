//! The beginnings of requests that providers read from their prompt caches.

use llm_client::{Price, PromptCache};
use schema::Usage;

use super::Range;

/// The most requests of a conversation that are looked at: no model takes the messages of more.
const MOST_REQUESTS: usize = 10_000;

/// The tokens that requests read from a prompt cache and write to it, at a provider that writes up to marks. Beginnings that conversations
/// share are not counted, so a run may read more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Prefixes {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Prefixes {
    /// Of the requests of one conversation, in order: the tokens of each that the next one begins with too. The last of them writes nothing.
    pub(crate) fn of_conversation(repeated: impl IntoIterator<Item = u64>) -> Self {
        let mut sum = Self::default();
        let mut cached = 0;
        let mut requests = repeated.into_iter().take(MOST_REQUESTS).peekable();
        while let Some(tokens) = requests.next() {
            sum.read = sum.read.saturating_add(cached);
            if requests.peek().is_some() && tokens >= PromptCache::SHORTEST {
                sum.written = sum.written.saturating_add(tokens.saturating_sub(cached));
                cached = tokens;
            }
        }
        sum
    }

    /// Those of so many conversations.
    pub(crate) fn times(self, conversations: u64) -> Self {
        Self {
            read: self.read.saturating_mul(conversations),
            written: self.written.saturating_mul(conversations),
        }
    }
}

impl Range<Prefixes> {
    /// Those of `rows` conversations.
    pub(crate) fn each(self, rows: Range<u64>) -> Self {
        Self {
            low: self.low.times(rows.low),
            high: self.high.times(rows.high),
        }
    }
}

/// What requests cost at a model with such a prompt cache, in dollars.
pub(super) fn cost(
    price: &Price,
    cache: Option<PromptCache>,
    (input_tokens, output_tokens): (u64, u64),
    prefixes: Prefixes,
) -> f64 {
    let (read, written) = match cache {
        None => (0, 0),
        Some(PromptCache::Automatic) => (prefixes.read, 0),
        Some(PromptCache::Marked) => (prefixes.read, prefixes.written),
    };
    price.cost(&Usage {
        input_tokens,
        cached_input_tokens: read,
        cache_write_tokens: written,
        output_tokens,
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_reads_what_the_one_before_wrote() {
        let of = |repeated: &[u64]| {
            let sum = Prefixes::of_conversation(repeated.iter().copied());
            (sum.read, sum.written)
        };
        assert_eq!(of(&[2000, 3000, 4000]), (5000, 3000));
        assert_eq!(of(&[1000, 1023, 1500, 2000]), (1500, 1500));
        assert_eq!(of(&[5000]), (0, 0));
        assert_eq!(of(&[]), (0, 0));
    }

    #[test]
    fn marks_cost_and_automatic_caches_do_not() {
        let price = Price {
            input: 10.0,
            output: 0.0,
            cached_input: Some(1.0),
            cache_write: None,
        };
        let prefixes = Prefixes {
            read: 500_000,
            written: 400_000,
        };
        let dollars = |cache| cost(&price, cache, (1_000_000, 0), prefixes);
        assert!((dollars(None) - 10.0).abs() < 1e-9);
        assert!((dollars(Some(PromptCache::Automatic)) - 5.5).abs() < 1e-9);
        assert!((dollars(Some(PromptCache::Marked)) - 6.5).abs() < 1e-9);
    }
}
