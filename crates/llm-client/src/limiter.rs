//! How many attempts may be in flight at one endpoint.

use std::{
    fmt,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use schema::{Event, EventBody, Journal, event::LimiterChanged};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{
    adaptive::{AdaptiveLimit, Change},
    rate::Rate,
};

/// Limits of one endpoint.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// Never more attempts in flight than this. At least 1.
    pub max_concurrency: usize,
    /// How many may be in flight at first.
    pub initial_concurrency: usize,
    /// The limit is reviewed once per round trip, and no more often than this, by the share of replies that refused.
    pub window: Duration,
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
    /// 64 in flight, at first and at most; windows of a second; no rates.
    fn default() -> Self {
        Self {
            max_concurrency: FIRST,
            initial_concurrency: FIRST,
            window: Duration::from_secs(1),
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }
}

/// Limits the attempts in flight at one endpoint. All models of one base URL and key share one.
///
/// The limit starts at [`LimitSettings::initial_concurrency`] and doubles per round trip while it is really used. Once the endpoint
/// refuses attempts because there are too many, the limit goes by the share of replies that do: up to 5 % change nothing; above it is
/// cut, at most once per round trip, to what the endpoint took, and returns quickly to the last level that went well. Other failures do
/// not change it. Cuts and doublings are journaled as `limiter changed`.
pub struct Limiter {
    name: Arc<str>,
    settings: LimitSettings,
    permits: Semaphore,
    state: Mutex<State>,
    /// Whether the limit was ever cut, so that permits may have to be taken back.
    was_cut: AtomicBool,
    requests: Option<Rate>,
    tokens: Option<Rate>,
    journal: Arc<dyn Journal>,
}

struct State {
    level: AdaptiveLimit,
    /// Permits that exist: in flight, held or free. More than the limit for a while after a cut.
    permits: usize,
    /// Permits of refused attempts that come back later.
    held: usize,
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
                level: AdaptiveLimit::new(first, most, settings.window, Instant::now()),
                permits: first,
                held: 0,
                told: first,
            }),
            was_cut: AtomicBool::new(false),
            requests: settings.requests_per_minute.map(Rate::per_minute),
            tokens: settings.tokens_per_minute.map(Rate::per_minute),
            settings,
            journal,
        })
    }

    /// How many attempts may be in flight now.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.state().level.limit()
    }

    /// How many attempts are in flight now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.occupied(&self.state())
    }

    /// Waits until an attempt of about `tokens` tokens may start. Waiters are served in the order they came.
    pub(crate) async fn acquire(self: &Arc<Self>, tokens: u32) -> Permit<'_> {
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
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<Permit<'_>> {
        if self.requests.is_some() || self.tokens.is_some() {
            return None;
        }
        let permit = self.permits.try_acquire().ok()?;
        Some(self.permit(Some(permit)))
    }

    fn permit<'a>(self: &'a Arc<Self>, permit: Option<SemaphorePermit<'a>>) -> Permit<'a> {
        Permit {
            limiter: self,
            permit,
            began: Instant::now(),
        }
    }

    /// Whether an estimate of tokens is of any use.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attempts in flight, without the places that refused ones keep.
    fn occupied(&self, state: &State) -> usize {
        let unused = self.permits.available_permits() + state.held;
        state.permits.saturating_sub(unused)
    }

    /// Learns from an attempt that began at `began` and has ended. Returns how long it keeps its place.
    fn learn(&self, outcome: Outcome, began: Instant) -> Duration {
        let now = Instant::now();
        let took = now.duration_since(began);
        let full = self.permits.available_permits() == 0;
        let mut state = self.state();
        let mut hold = Duration::ZERO;
        let mut change = match outcome {
            Outcome::Answered => state.level.answered(took, full),
            Outcome::RateLimited => {
                state.level.refused(began, full);
                hold = state.level.hold(took);
                None
            }
            Outcome::Other => return hold,
        };
        // This attempt is over, though it still has its place.
        let others = self.occupied(&state).saturating_sub(1);
        change = state.level.review(others, now).or(change);
        if let Some(change) = change {
            self.apply(state, change);
        }
        hold
    }

    /// Adds or removes permits, so that there are as many as the limit says.
    fn apply(&self, mut state: std::sync::MutexGuard<'_, State>, change: Change) {
        let limit = state.level.limit();
        if limit > state.permits {
            self.permits.add_permits(limit - state.permits);
            state.permits = limit;
        } else {
            // Permits in flight are taken back as they return.
            self.was_cut.store(true, Ordering::Release);
            state.permits -= self.permits.forget_permits(state.permits - limit);
        }
        let before = state.told;
        let worth_recording = limit >= before.saturating_mul(2)
            || limit >= self.settings.max_concurrency
            || change != Change::Grown;
        if !worth_recording || limit == before {
            return;
        }
        state.told = limit;
        drop(state);
        let reason = match change {
            Change::Grown => "in use",
            Change::Cut => "rate limited",
            Change::Undone => "rate limited at any load",
        };
        tracing::info!(endpoint = %self.name, before, limit, reason, "limiter changed");
        let changed = LimiterChanged {
            endpoint: Arc::clone(&self.name),
            before: before as u64,
            limit: limit as u64,
            reason: reason.into(),
        };
        self.journal
            .record(Event::new(EventBody::LimiterChanged(changed)));
    }

    /// Whether a permit that comes back must go, because the limit was cut meanwhile.
    fn takes_back(&self, state: &mut State) -> bool {
        let over = state.permits > state.level.limit();
        if over {
            state.permits -= 1;
        }
        over
    }

    /// Brings a permit back after `hold`.
    async fn give_back_after(self: Arc<Self>, hold: Duration) {
        tokio::time::sleep(hold).await;
        let mut state = self.state();
        state.held -= 1;
        if !self.takes_back(&mut state) {
            self.permits.add_permits(1);
        }
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
    limiter: &'a Arc<Limiter>,
    permit: Option<SemaphorePermit<'a>>,
    began: Instant,
}

impl Permit<'_> {
    /// Ends the attempt. The place of one that was refused is free again when an answer would have come.
    pub(crate) fn finish(mut self, outcome: Outcome) {
        let hold = self.limiter.learn(outcome, self.began);
        if hold.is_zero() {
            return;
        }
        if let (Some(permit), Ok(runtime)) = (self.permit.take(), Handle::try_current()) {
            self.limiter.state().held += 1;
            permit.forget();
            runtime.spawn(Arc::clone(self.limiter).give_back_after(hold));
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Without a cut there is nothing to take back, and no lock to wait for.
        let cut = self.limiter.was_cut.load(Ordering::Acquire);
        if let Some(permit) = self.permit.take()
            && cut
            && self.limiter.takes_back(&mut self.limiter.state())
        {
            permit.forget();
        }
    }
}
