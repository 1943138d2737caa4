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
    /// The most attempts in flight. At least 1.
    pub max_concurrency: usize,
    /// How many attempts may be in flight at first.
    pub initial_concurrency: usize,
    /// The limit is reviewed once per round trip, and no more often than this, by the share of refused attempts.
    pub window: Duration,
    /// Attempts started per minute, spread evenly with bursts of a tenth. `None`: unlimited.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute, estimated before each attempt: a token for every four characters of the messages, and the model's
    /// `max_tokens` if it is set. `None`: unlimited.
    pub tokens_per_minute: Option<NonZeroU32>,
}

/// The least number of attempts in flight at first: most endpoints accept it.
const FIRST: usize = 64;

impl LimitSettings {
    /// At most `max` in flight; at first 64 or a quarter of `max`, whichever is more. A user who allows a thousand has an endpoint that
    /// accepts many, and reaches the maximum in two round trips. Other fields have their defaults.
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
/// The limit starts at [`LimitSettings::initial_concurrency`] and doubles per round trip while it is fully used. Once the endpoint
/// refuses attempts because there are too many, the limit depends on the share of refusals: up to 5 % change nothing; above 5 % the
/// limit is cut, at most once per round trip, to what the endpoint accepted, and returns quickly to the last level without a cut. Other
/// failures do not change it. Cuts and doublings are journaled as `limiter changed`.
pub struct Limiter {
    name: Arc<str>,
    settings: LimitSettings,
    permits: Semaphore,
    state: Mutex<State>,
    /// True after the first cut: permits may have to be taken back.
    was_cut: AtomicBool,
    requests: Option<Rate>,
    tokens: Option<Rate>,
    journal: Arc<dyn Journal>,
}

struct State {
    level: AdaptiveLimit,
    /// Existing permits: in flight, held or free. After a cut, temporarily more than the limit.
    permits: usize,
    /// Permits of refused attempts that are returned later.
    held: usize,
    /// The limit in the newest journal event.
    journaled: usize,
}

impl Limiter {
    /// Limits for the endpoint with the name `name` in the journal.
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
                journaled: first,
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

    /// Waits until an attempt of about `tokens` tokens may start. Waiters are served in order of arrival.
    pub(crate) async fn acquire(self: &Arc<Self>, tokens: u32) -> Permit<'_> {
        if let Some(rate) = &self.requests {
            rate.take(1).await;
        }
        if let Some(rate) = &self.tokens {
            rate.take(tokens).await;
        }
        // The semaphore is never closed, so `acquire` does not fail.
        let permit = self.permits.acquire().await.ok();
        self.permit(permit)
    }

    /// A permit for an attempt that may start at once. `None`: the attempt has to [`acquire`](Self::acquire) one.
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

    /// Whether the limiter uses estimates of tokens.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attempts in flight, without the permits that refused attempts hold.
    fn occupied(&self, state: &State) -> usize {
        let unused = self.permits.available_permits() + state.held;
        state.permits.saturating_sub(unused)
    }

    /// Updates the limit with the result of an attempt that began at `began`. Returns how long the attempt keeps its permit.
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
        // This attempt is over, although it still has its permit.
        let others = self.occupied(&state).saturating_sub(1);
        change = state.level.review(others, now).or(change);
        if let Some(change) = change {
            self.apply(state, change);
        }
        hold
    }

    /// Adds or removes permits, so that their number matches the limit.
    fn apply(&self, mut state: std::sync::MutexGuard<'_, State>, change: Change) {
        let limit = state.level.limit();
        if limit > state.permits {
            self.permits.add_permits(limit - state.permits);
            state.permits = limit;
        } else {
            // Permits in flight are removed when they are returned.
            self.was_cut.store(true, Ordering::Release);
            state.permits -= self.permits.forget_permits(state.permits - limit);
        }
        let before = state.journaled;
        let worth_recording = limit >= before.saturating_mul(2)
            || limit >= self.settings.max_concurrency
            || change != Change::Grown;
        if !worth_recording || limit == before {
            return;
        }
        state.journaled = limit;
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

    /// Whether a returned permit must be removed because the limit was cut meanwhile.
    fn takes_back(&self, state: &mut State) -> bool {
        let over = state.permits > state.level.limit();
        if over {
            state.permits -= 1;
        }
        over
    }

    /// Returns a permit after `hold`.
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

/// The result of an attempt, as far as the limit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The endpoint answered.
    Answered,
    /// The endpoint refused the attempt because it gets too many requests.
    RateLimited,
    /// Anything else.
    Other,
}

/// The right to make one attempt. A permit that is dropped without `finish`, as when a call is cancelled, is only returned.
pub(crate) struct Permit<'a> {
    limiter: &'a Arc<Limiter>,
    permit: Option<SemaphorePermit<'a>>,
    began: Instant,
}

impl Permit<'_> {
    /// Ends the attempt. The permit of a refused attempt is free again when an answer would have arrived.
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
        // Without a cut no permit has to be removed, and the lock is not needed.
        let cut = self.limiter.was_cut.load(Ordering::Acquire);
        if let Some(permit) = self.permit.take()
            && cut
            && self.limiter.takes_back(&mut self.limiter.state())
        {
            permit.forget();
        }
    }
}
