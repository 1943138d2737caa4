//! A rate limit per minute.

use std::num::NonZeroU32;

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use tokio::sync::Semaphore;

/// Lets a number of units per minute through, in order of arrival.
pub(crate) struct Rate {
    limiter: DefaultDirectRateLimiter,
    clock: DefaultClock,
    /// The most that can be taken at once.
    burst: NonZeroU32,
    /// Only the first waiter watches the clock; the others wait for this semaphore.
    turn: Semaphore,
}

impl Rate {
    pub(crate) fn per_minute(rate: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(rate.get() / 10).unwrap_or(NonZeroU32::MIN);
        Self {
            limiter: RateLimiter::direct(Quota::per_minute(rate).allow_burst(burst)),
            clock: DefaultClock::default(),
            burst,
            turn: Semaphore::new(1),
        }
    }

    /// Waits until `n` units may pass. More than one burst is taken in pieces.
    pub(crate) async fn take(&self, n: u32) {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        let mut left = n;
        while let Some(piece) = NonZeroU32::new(left.min(self.burst.get())) {
            match self.limiter.check_n(piece) {
                Ok(Ok(())) => left -= piece.get(),
                Ok(Err(later)) => {
                    tokio::time::sleep(later.wait_time_from(self.clock.now())).await;
                }
                // A piece is never larger than the burst, so this does not happen; waiting would not help if it did.
                Err(_) => return,
            }
        }
    }
}
