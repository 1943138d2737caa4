//! How many attempts may be in flight at one endpoint.

use std::{
    fmt,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use schema::{ChatReply, Event, EventBody, Journal, event::PaceChanged};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{
    Cache, LimitShare,
    cache::EndpointHash,
    pace::{Change, Pace, PaceRate, Refused},
    rate::Rate,
};

/// Limits of one endpoint.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// The most attempts in flight. At least 1.
    pub max_concurrency: usize,
    /// Whether `max_concurrency` is a limit of the run, of which this process has its [share](LimitShare), as it has of the rates. Each process
    /// may have one attempt in flight.
    pub shares_concurrency: bool,
    /// How many attempts may be in flight at first, of all processes that [share](LimitShare) the endpoint: three times as many after a quarter
    /// of a second, then about twice as many each, until 64 were answered and none refused. As many as `max_concurrency`: all at once.
    pub initial_concurrency: usize,
    /// Attempts started per minute, spread evenly with bursts of a tenth. `None`: unlimited.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute, estimated before each attempt: a token for every four characters of the messages, and the model's
    /// `max_tokens` if it is set. `None`: unlimited.
    pub tokens_per_minute: Option<NonZeroU32>,
}

/// Attempts in flight at most, by default.
const MOST: usize = 64;
/// Attempts in flight at first, by default: an endpoint that takes five a second refuses three of them.
const FIRST: usize = 8;

impl LimitSettings {
    /// At most `max` in flight, and 8 at first.
    #[must_use]
    pub fn up_to(max: usize) -> Self {
        Self {
            max_concurrency: max,
            initial_concurrency: max.min(FIRST),
            ..Self::default()
        }
    }
}

impl Default for LimitSettings {
    /// 64 in flight, 8 at first; no rates.
    fn default() -> Self {
        Self {
            max_concurrency: MOST,
            shares_concurrency: false,
            initial_concurrency: FIRST,
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }
}

/// Limits the attempts at one endpoint. All models of one base URL and key share one, and are served in order of arrival.
///
/// At most [`LimitSettings::max_concurrency`] are in flight. Once the endpoint refuses more than 5 % of attempts because there are too many,
/// the limiter learns how many a second it takes, and attempts start evenly at that pace; it grows while nothing is refused. A wait that the
/// endpoint asks for holds all attempts while it takes nothing. Refusals that do not become fewer at a slower pace, and other failures,
/// change nothing. Larger changes are journaled as `pace changed`.
pub struct Limiter {
    name: Arc<str>,
    permits: Semaphore,
    most: usize,
    shares_concurrency: bool,
    share: LimitShare,
    state: Mutex<State>,
    /// Whether starts are paced: else no attempt has to look.
    is_paced: AtomicBool,
    /// Attempts so far.
    started: AtomicU64,
    /// Only the first waiter watches the clock; the others wait for this semaphore, in order of arrival.
    turn: Semaphore,
    requests: Option<Rate>,
    tokens: Option<Rate>,
    journal: Arc<dyn Journal>,
    memory: Option<PaceMemory>,
}

/// Where the pace of an endpoint is kept for the next run.
pub(crate) struct PaceMemory {
    pub(crate) cache: Cache,
    pub(crate) endpoint: EndpointHash,
}

struct State {
    pace: Pace,
    /// How long an answer takes, on average. Zero before the first one.
    round_trip: Duration,
    /// The pace in the newest journal event.
    journaled: Option<f64>,
    /// When a pace that the endpoint announced was journaled, or left.
    announced: Option<Instant>,
    /// The pace that is kept for the next run, and when it was passed on.
    kept: Option<(f64, Instant)>,
}

/// The weight of a new duration in the average.
const NEWEST: f64 = 0.1;
/// A pace that changed less than this, as a share, is not journaled again.
const NOTABLE: f64 = 0.2;
/// How often a pace that the endpoint announces is journaled: it changes with every reply.
const ANNOUNCED_EVERY: Duration = Duration::from_secs(10);
/// How often the pace is kept for the next run, besides the end of this one.
const KEPT_EVERY: Duration = Duration::from_secs(5);

impl Limiter {
    /// Limits for the endpoint with the name `name` in the journal.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        settings: LimitSettings,
        journal: Arc<dyn Journal>,
    ) -> Arc<Self> {
        Self::sharing(name, settings, LimitShare::default(), journal, None)
    }

    /// The same with a `share` of the limits, for an endpoint whose pace is kept in `memory`: it begins with the one that a run of the last
    /// hour learned.
    pub(crate) fn sharing(
        name: impl Into<Arc<str>>,
        settings: LimitSettings,
        share: LimitShare,
        journal: Arc<dyn Journal>,
        memory: Option<PaceMemory>,
    ) -> Arc<Self> {
        let most = settings.max_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        let first = match settings.initial_concurrency {
            first if first >= most => most,
            // All that share the endpoint begin at about the same time.
            first => (first / share.of() as usize).clamp(1, most),
        };
        let now = Instant::now();
        let kept = memory
            .as_ref()
            .and_then(|memory| memory.cache.pace(&memory.endpoint));
        let pace = match kept {
            Some(rate) => Pace::known(rate, now),
            None if first == most => Pace::free(now),
            None => Pace::opening(first, now),
        };
        Arc::new(Self {
            name: name.into(),
            permits: Semaphore::new(most),
            most,
            shares_concurrency: settings.shares_concurrency,
            share,
            is_paced: AtomicBool::new(!pace.is_free(now)),
            started: AtomicU64::new(0),
            state: Mutex::new(State {
                pace,
                round_trip: Duration::ZERO,
                journaled: None,
                announced: None,
                kept: kept.map(|rate| (rate, now)),
            }),
            turn: Semaphore::new(1),
            requests: settings.requests_per_minute.map(Rate::per_minute),
            tokens: settings.tokens_per_minute.map(Rate::per_minute),
            journal,
            memory,
        })
    }

    /// How many attempts a second may start; `None`: as many as there are, up to those that may be in flight.
    #[must_use]
    pub fn pace(&self) -> Option<f64> {
        self.state()
            .pace
            .rate(Instant::now())
            .map(PaceRate::a_second)
    }

    /// How many attempts are in flight now, with one that waits for its turn.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let taken = self.most.saturating_sub(self.permits.available_permits());
        taken.div_ceil(self.permits_each() as usize)
    }

    /// Waits until an attempt of about `tokens` tokens may start. Waiters are served in order of arrival.
    pub(crate) async fn acquire(&self, tokens: u32) -> Permit<'_> {
        // An attempt counts once for each process that shares the limits.
        let of = self.share.of();
        if let Some(rate) = &self.requests {
            rate.take(of).await;
        }
        if let Some(rate) = &self.tokens {
            rate.take(tokens.saturating_mul(of)).await;
        }
        // The semaphores are never closed, so `acquire` does not fail.
        let _turn = self.turn.acquire().await;
        let permit = self.permits.acquire_many(self.permits_each()).await.ok();
        let number = loop {
            match self.start() {
                Ok(number) => break number,
                Err(at) => tokio::time::sleep_until(at).await,
            }
        };
        self.permit(permit, number)
    }

    /// A permit for an attempt that may start at once. `None`: the attempt has to [`acquire`](Self::acquire) one.
    pub(crate) fn try_acquire(&self) -> Option<Permit<'_>> {
        if self.requests.is_some() || self.tokens.is_some() {
            return None;
        }
        // Who waits goes first.
        let _turn = self.turn.try_acquire().ok()?;
        let permit = self.permits.try_acquire_many(self.permits_each()).ok()?;
        let number = self.start().ok()?;
        Some(self.permit(Some(permit), number))
    }

    /// The permits that an attempt takes: one for each process that shares them, and no more than there are.
    fn permits_each(&self) -> u32 {
        match self.shares_concurrency {
            true => {
                u32::try_from(self.most).map_or(self.share.of(), |most| most.min(self.share.of()))
            }
            false => 1,
        }
    }

    /// Whether the pace of the endpoint lets an attempt start now; else, when to ask again.
    fn start(&self) -> Result<u32, Instant> {
        if !self.is_paced.load(Ordering::Acquire) {
            return Ok(0);
        }
        let mut state = self.state();
        let now = Instant::now();
        let started = state.pace.start(now);
        self.is_paced
            .store(!state.pace.is_free(now), Ordering::Release);
        self.note(state, Change::InUse);
        started
    }

    fn permit<'a>(&'a self, permit: Option<SemaphorePermit<'a>>, number: u32) -> Permit<'a> {
        Permit {
            limiter: self,
            _permit: permit,
            began: Instant::now(),
            number,
            earlier: self.started.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Whether the limiter uses estimates of tokens.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the pace with the result of an attempt.
    fn learn(&self, outcome: Outcome<'_>, permit: &Permit<'_>) {
        let now = Instant::now();
        let Permit {
            began,
            number,
            earlier,
            ..
        } = *permit;
        let mut state = self.state();
        match outcome {
            Outcome::Answered(reply) => {
                let took = now.duration_since(began);
                state.round_trip = match state.round_trip {
                    Duration::ZERO => took,
                    before => before.mul_f64(1.0 - NEWEST) + took.mul_f64(NEWEST),
                };
                let newer = self.started.load(Ordering::Relaxed) - earlier - 1;
                #[expect(clippy::cast_precision_loss, reason = "far fewer")]
                state.pace.answered(reply, began, newer as f64, now);
                self.is_paced
                    .store(!state.pace.is_free(now), Ordering::Release);
            }
            Outcome::RateLimited(asked) => {
                // This attempt is over, although it still has its permit.
                let accepted = self.in_flight().saturating_sub(1);
                let attempt = Refused {
                    began,
                    number,
                    asked,
                    accepted: u32::try_from(accepted).map_or(f64::INFINITY, f64::from),
                    round_trip: state.round_trip,
                };
                let change = state.pace.refused(attempt, now);
                if state.kept.is_none_or(|(_, at)| now - at >= KEPT_EVERY) {
                    self.keep(&mut state, now);
                }
                self.is_paced
                    .store(!state.pace.is_free(now), Ordering::Release);
                self.note(state, change);
            }
            Outcome::Other => {}
        }
    }

    /// Keeps what is known of the pace for the next run, unless it is what is kept.
    fn keep(&self, state: &mut State, now: Instant) {
        let kept = state.kept.map(|(rate, _)| rate);
        let learned = state.pace.learned().filter(|rate| kept != Some(*rate));
        if let (Some(memory), Some(rate)) = (&self.memory, learned) {
            state.kept = Some((rate, now));
            memory.cache.keep_pace(memory.endpoint, rate);
        }
    }

    /// Journals the pace, if it is not much what it was.
    fn note(&self, mut state: std::sync::MutexGuard<'_, State>, change: Change) {
        let now = Instant::now();
        let paced = state.pace.rate(now);
        let (before, rate) = (state.journaled, paced.map(PaceRate::a_second));
        let is_notable = match (before, rate) {
            (Some(before), Some(rate)) => (rate / before - 1.0).abs() >= NOTABLE,
            (before, rate) => before.is_some() != rate.is_some(),
        };
        let is_announced = matches!(paced, Some(PaceRate::Announced(_)));
        let was_announced = state.announced.is_some_and(|at| now - at < ANNOUNCED_EVERY);
        if !is_notable || was_announced {
            return;
        }
        state.journaled = rate;
        state.announced = is_announced.then_some(now);
        drop(state);
        let reason = match change {
            _ if is_announced => "announced",
            // Nothing but an earlier run can have paced it.
            Change::InUse if before.is_none() => "learned by an earlier run",
            Change::InUse => "in use",
            Change::RateLimited => "rate limited",
            Change::Undone => "rate limited at any pace",
        };
        tracing::info!(endpoint = %self.name, before, rate, reason, "pace changed");
        let changed = PaceChanged {
            endpoint: Arc::clone(&self.name),
            before,
            rate,
            reason: reason.into(),
        };
        self.journal
            .record(Event::new(EventBody::PaceChanged(changed)));
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.keep(&mut self.state(), Instant::now());
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("name", &self.name)
            .field("pace", &self.pace())
            .finish_non_exhaustive()
    }
}

/// The result of an attempt, as far as the limit is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<'a> {
    /// The endpoint answered.
    Answered(&'a ChatReply),
    /// The endpoint refused the attempt because it gets too many requests, and asks for this wait.
    RateLimited(Option<Duration>),
    /// Anything else.
    Other,
}

/// The right to make one attempt. A permit that is dropped without `finish`, as when a call is cancelled, is only returned.
pub(crate) struct Permit<'a> {
    limiter: &'a Limiter,
    _permit: Option<SemaphorePermit<'a>>,
    began: Instant,
    /// Its number since the last change of pace.
    number: u32,
    /// Attempts that began before.
    earlier: u64,
}

impl Permit<'_> {
    /// Ends the attempt.
    pub(crate) fn finish(self, outcome: Outcome<'_>) {
        self.limiter.learn(outcome, &self);
    }
}
