//! How many attempts may be in flight at one endpoint.

use std::{
    fmt,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use schema::{Event, Journal};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::rate::Rate;

/// How much of the limit is left after the endpoint asked to slow down.
const CUT: f64 = 0.6;

/// Limits of one endpoint.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// Never more attempts in flight than this. At least 1.
    pub max_concurrency: usize,
    /// How many may be in flight at first.
    pub initial_concurrency: usize,
    /// After a cut, further rate limits are ignored for this long: they belong to the same burst.
    pub cool_down: Duration,
    /// Attempts started per minute, spread evenly with bursts of a tenth. `None`: as many as come.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute, by an estimate made before each attempt: a token for every four characters of the messages, and
    /// the model's `max_tokens` where it is set. `None`: as many as come.
    pub tokens_per_minute: Option<NonZeroU32>,
}

/// How many may be in flight at first, at least: what most endpoints take without a word.
const FIRST: usize = 64;

impl LimitSettings {
    /// At most `max` in flight; at first 64 or a quarter of it, whichever is more. Somebody who allows a thousand knows an
    /// endpoint that takes many, and two round trips are then enough to get there. The rest is as by default.
    #[must_use]
    pub fn up_to(max: usize) -> Self {
        Self {
            max_concurrency: max,
            initial_concurrency: max.min(FIRST.max(max / 4)),
            ..Self::default()
        }
    }
}

impl Default for LimitSettings {
    /// 64 in flight, at first and at most; 5 seconds to cool down; no rates.
    fn default() -> Self {
        Self {
            max_concurrency: FIRST,
            initial_concurrency: FIRST,
            cool_down: Duration::from_secs(5),
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }
}

/// Limits the attempts in flight at one endpoint. All models of one base URL and key share one.
///
/// The limit starts at [`LimitSettings::initial_concurrency`], doubles per round trip while it is really used, and is cut
/// once when the endpoint says that it gets too many requests. From then on it grows slowly. Other failures do not change it.
/// Cuts and doublings are journaled as `limiter changed`.
pub struct Limiter {
    name: Arc<str>,
    settings: LimitSettings,
    permits: Semaphore,
    state: Mutex<State>,
    /// How often the limit was cut. An attempt that began before the last cut says nothing about the limit of now.
    cuts: AtomicU64,
    requests: Option<Rate>,
    tokens: Option<Rate>,
    journal: Arc<dyn Journal>,
}

struct State {
    /// The limit; between 1 and the settings' most. Grows by fractions.
    limit: f64,
    /// Permits that exist, in flight or free. More than the limit for a while after a cut.
    permits: usize,
    /// Whether the limit was never cut.
    slow_start: bool,
    last_cut: Option<Instant>,
    /// The limit that was last journaled.
    told: usize,
}

impl Limiter {
    /// Limits for the endpoint called `name` in the journal.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        settings: LimitSettings,
        journal: Arc<dyn Journal>,
    ) -> Arc<Self> {
        let most = settings.max_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        let settings = LimitSettings {
            max_concurrency: most,
            initial_concurrency: settings.initial_concurrency.clamp(1, most),
            ..settings
        };
        let first = settings.initial_concurrency;
        Arc::new(Self {
            name: name.into(),
            permits: Semaphore::new(first),
            state: Mutex::new(State {
                limit: as_float(first),
                permits: first,
                slow_start: true,
                last_cut: None,
                told: first,
            }),
            cuts: AtomicU64::new(0),
            requests: settings.requests_per_minute.map(Rate::per_minute),
            tokens: settings.tokens_per_minute.map(Rate::per_minute),
            settings,
            journal,
        })
    }

    /// How many attempts may be in flight now.
    #[must_use]
    pub fn limit(&self) -> usize {
        whole(self.state().limit)
    }

    /// How many attempts are in flight now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let state = self.state();
        state
            .permits
            .saturating_sub(self.permits.available_permits())
    }

    /// Waits until an attempt of about `tokens` tokens may start. Waiters are served in the order they came.
    pub(crate) async fn acquire(&self, tokens: u32) -> Permit<'_> {
        if let Some(rate) = &self.requests {
            rate.take(1).await;
        }
        if let Some(rate) = &self.tokens {
            rate.take(tokens).await;
        }
        // The semaphore is never closed, so there always comes a permit.
        let permit = self.permits.acquire().await.ok();
        self.permit(permit)
    }

    /// A permit for an attempt that may start at once. `None`: it has to [`acquire`](Self::acquire) one.
    pub(crate) fn try_acquire(&self) -> Option<Permit<'_>> {
        if self.requests.is_some() || self.tokens.is_some() {
            return None;
        }
        let permit = self.permits.try_acquire().ok()?;
        Some(self.permit(Some(permit)))
    }

    fn permit<'a>(&'a self, permit: Option<SemaphorePermit<'a>>) -> Permit<'a> {
        Permit {
            limiter: self,
            permit,
            cuts: self.cuts.load(Ordering::Acquire),
        }
    }

    /// Whether an estimate of tokens is of any use.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt was answered: grow, if the limit is what held others back.
    fn grow(&self) {
        if self.permits.available_permits() > 0 {
            return;
        }
        let mut state = self.state();
        let most = as_float(self.settings.max_concurrency);
        if state.limit >= most {
            return;
        }
        let step = if state.slow_start {
            1.0
        } else {
            1.0 / state.limit
        };
        state.limit = (state.limit + step).min(most);
        let limit = whole(state.limit);
        if limit > state.permits {
            self.permits.add_permits(limit - state.permits);
            state.permits = limit;
        }
        let before = state.told;
        if limit >= before.saturating_mul(2) || state.limit >= most {
            state.told = limit;
            drop(state);
            self.tell(before, limit, "in use");
        }
    }

    /// The endpoint said that it gets too many requests. `cuts` is what the attempt saw when it began.
    fn cut(&self, cuts: u64) {
        let mut state = self.state();
        let now = Instant::now();
        let cooling = state
            .last_cut
            .is_some_and(|last| now.duration_since(last) < self.settings.cool_down);
        if cooling || cuts != self.cuts.load(Ordering::Acquire) {
            return;
        }
        self.cuts.fetch_add(1, Ordering::AcqRel);
        state.slow_start = false;
        state.last_cut = Some(now);
        let before = whole(state.limit);
        state.limit = (state.limit * CUT).max(1.0);
        let limit = whole(state.limit);
        state.told = limit;
        // Permits in flight are taken back as they return.
        let free = self.permits.forget_permits(state.permits - limit);
        state.permits -= free;
        drop(state);
        tracing::info!(endpoint = %self.name, before, limit, "rate limited");
        self.tell(before, limit, "rate limited");
    }

    fn tell(&self, before: usize, limit: usize, reason: &'static str) {
        let event = Event::new("limiter changed", "Limiter", "release")
            .with("endpoint", Arc::clone(&self.name))
            .with("before", before as u64)
            .with("limit", limit as u64)
            .with("reason", reason);
        self.journal.record(event);
    }

    /// Whether a permit that comes back must go, because the limit was cut meanwhile.
    fn takes_back(&self) -> bool {
        let mut state = self.state();
        let over = state.permits > whole(state.limit);
        if over {
            state.permits -= 1;
        }
        over
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("name", &self.name)
            .field("limit", &self.limit())
            .finish_non_exhaustive()
    }
}

/// What an attempt shows about the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The endpoint answered.
    Answered,
    /// The endpoint gets too many requests.
    RateLimited,
    /// Anything else.
    Other,
}

/// The right to make one attempt. Dropped without a word, as when a call is given up, it only returns the permit.
pub(crate) struct Permit<'a> {
    limiter: &'a Limiter,
    permit: Option<SemaphorePermit<'a>>,
    cuts: u64,
}

impl Permit<'_> {
    /// Ends the attempt.
    pub(crate) fn finish(self, outcome: Outcome) {
        match outcome {
            Outcome::Answered => self.limiter.grow(),
            Outcome::RateLimited => self.limiter.cut(self.cuts),
            Outcome::Other => {}
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Without a cut there is nothing to take back, and no lock to wait for.
        let cut = self.limiter.cuts.load(Ordering::Acquire) > 0;
        if let Some(permit) = self.permit.take()
            && cut
            && self.limiter.takes_back()
        {
            permit.forget();
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn as_float(n: usize) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are at least 1 and far below 2^53"
)]
fn whole(limit: f64) -> usize {
    (limit as usize).max(1)
}
