//! The circuit breaker of one model at one endpoint, and the record of replies that it is based on.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use schema::{
    ChatReply, ChatRequest, Event, EventBody, Journal, ModelError, ModelErrorKind, ModelId,
    event::{CircuitBreakerClosed, CircuitBreakerOpened},
};
use tokio::{sync::Notify, time::Instant};

use crate::{
    CallFailure, NoReply,
    failure::{push_sentence, role},
};

/// A circuit opens after at least this many failed attempts.
const IN_EARNEST: u32 = 3;
/// A model without attempts for longer than this starts over. It is longer than any wait between two attempts.
const LEFT_ALONE: Duration = Duration::from_secs(150);
/// How often an attempt is let through while the circuit is open.
const PROBE_EVERY: Duration = Duration::from_secs(30);
/// How long a model may fail until its circuit opens, by default.
pub(crate) const OPENS_AFTER: Duration = Duration::from_secs(180);
/// How long that is where every connection is refused and nothing at the endpoint has ever answered: it is not running, or the address is
/// wrong.
const NEVER_THERE: Duration = Duration::from_secs(10);

/// Stops calls to a model that has failed for too long. All models of the same name, base URL and key share one.
///
/// The circuit opens when attempts have failed for the time passed to [`CircuitBreaker::new`], at least three of them, and none was
/// answered. A request that the endpoint refuses for its content (status 400, for example) is an answer; a 5xx, a rate limit, a
/// timeout, a lost connection and a reply that is not a completion are failures. Where every connection is refused and nothing at the
/// endpoint has ever answered, 10 seconds are enough, unless the time passed is longer than the default of 3 minutes. While the circuit is open, calls fail at once,
/// including those that wait for their next attempt; every 30 seconds one attempt is let through, and an answer closes the circuit.
/// The journal has `circuit breaker opened` and `circuit breaker closed`.
pub struct CircuitBreaker {
    model: Arc<str>,
    endpoint: Arc<str>,
    opens_after: Duration,
    /// Whether anything at the endpoint has answered, to whichever model's calls.
    answered: Arc<AtomicBool>,
    journal: Arc<dyn Journal>,
    state: Mutex<State>,
    opened: Notify,
}

#[derive(Default)]
struct State {
    failing: Option<Failing>,
    open: Option<Open>,
    next_id: u64,
    /// When each attempt in flight began, oldest first.
    in_flight: BTreeMap<u64, Instant>,
    /// The next attempt of each call that waits for it, and the reason for the wait.
    waiting: BTreeMap<u64, (Instant, Arc<str>)>,
    /// The batches that are waited for, by id.
    batches: BTreeMap<String, BatchesStatus>,
}

impl State {
    fn batches_status(&self) -> Option<BatchesStatus> {
        let all = self.batches.values().copied();
        all.reduce(|all, one| BatchesStatus {
            batches: all.batches + one.batches,
            requests: all.requests + one.requests,
            done: all.done + one.done,
            longest: all.longest.max(one.longest),
        })
    }
}

/// The attempts that failed since the last answer.
struct Failing {
    since: Instant,
    newest: Instant,
    attempts: u32,
    /// Whether all of them were refused connections.
    refused: bool,
    last: CallFailure,
}

struct Open {
    since: Instant,
    next_probe: Instant,
    /// Why the circuit opened, in the same words for each call that fails because of it.
    why: String,
    /// Whether nothing at the endpoint had ever answered.
    never_there: bool,
    last: CallFailure,
}

impl CircuitBreaker {
    /// A closed circuit for the model with the name `model` at `endpoint`. It opens after `opens_after` without an answer.
    #[must_use]
    pub fn new(
        model: impl Into<Arc<str>>,
        endpoint: impl Into<Arc<str>>,
        opens_after: Duration,
        journal: Arc<dyn Journal>,
    ) -> Arc<Self> {
        Self::sharing(model, endpoint, opens_after, Arc::default(), journal)
    }

    /// Like [`new`](Self::new), for one of several models of an endpoint. They share `answered`: whether anything there has answered.
    pub(crate) fn sharing(
        model: impl Into<Arc<str>>,
        endpoint: impl Into<Arc<str>>,
        opens_after: Duration,
        answered: Arc<AtomicBool>,
        journal: Arc<dyn Journal>,
    ) -> Arc<Self> {
        Arc::new(Self {
            model: model.into(),
            endpoint: endpoint.into(),
            opens_after,
            answered,
            journal,
            state: Mutex::default(),
            opened: Notify::new(),
        })
    }

    /// Whether calls fail at once.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state().open.is_some()
    }

    /// The current state of the model.
    #[must_use]
    pub fn status(&self) -> ModelStatus {
        let now = Instant::now();
        let state = self.state();
        let next = state.waiting.values().min_by_key(|(until, _)| *until);
        let since = |then: Instant| now.duration_since(then);
        ModelStatus {
            model: Arc::clone(&self.model),
            endpoint: Arc::clone(&self.endpoint),
            in_flight: state.in_flight.len(),
            longest: state.in_flight.values().next().copied().map(since),
            waiting: state.waiting.len(),
            next_attempt: next.map(|(until, why)| (until.duration_since(now), Arc::clone(why))),
            failing: state.failing.as_ref().map(|failing| FailingStatus {
                lasting: since(failing.since),
                attempts: failing.attempts,
                last: failing.last.to_string(),
                opens_in: self.patience(failing).saturating_sub(since(failing.since)),
            }),
            next_probe: state
                .open
                .as_ref()
                .map(|open| open.next_probe.duration_since(now)),
            batches: state.batches_status(),
        }
    }

    /// Remembers a batch that is waited for.
    pub(crate) fn waits_for_batch(&self, id: &str, batch: BatchesStatus) {
        self.state().batches.insert(id.to_owned(), batch);
    }

    /// Drops a batch that has ended.
    pub(crate) fn batch_ended(&self, id: &str) {
        self.state().batches.remove(id);
    }

    /// The error of a call that should not be attempted now; `None` when it should.
    pub(crate) fn refusal(&self, request: &ChatRequest, id: &ModelId) -> Option<ModelError> {
        let state = self.state();
        let open = state.open.as_ref()?;
        let now = Instant::now();
        (now < open.next_probe).then(|| self.error(open, request, id))
    }

    /// Waits until calls are not attempted. Returns the error of this one.
    pub(crate) async fn refuses(&self, request: &ChatRequest, id: &ModelId) -> ModelError {
        loop {
            // Created before the circuit is checked, so that an opening in between is noticed.
            let opened = self.opened.notified();
            if let Some(error) = self.refusal(request, id) {
                return error;
            }
            opened.await;
        }
    }

    /// Begins an attempt. While the circuit is open, only an occasional attempt may begin.
    pub(crate) fn begin(
        &self,
        request: &ChatRequest,
        id: &ModelId,
    ) -> Result<Attempt<'_>, ModelError> {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(open) = &mut state.open {
            if now < open.next_probe {
                return Err(self.error(open, request, id));
            }
            open.next_probe = now + PROBE_EVERY;
        }
        let number = state.number();
        state.in_flight.insert(number, now);
        Ok(Attempt {
            breaker: self,
            number,
            began: now,
        })
    }

    fn error(&self, open: &Open, request: &ChatRequest, id: &ModelId) -> ModelError {
        let mut message = format!(
            "{} {id} at {} was given up: its circuit breaker is open, since {}",
            role(request.context.purpose),
            self.endpoint,
            open.why
        );
        let advice = match open.never_there {
            true => "Nothing there has ever answered: is it running, and is `base_url` right?",
            false => "Run again later: finished calls are kept",
        };
        push_sentence(&mut message, ". ", advice);
        ModelError::new(ModelErrorKind::CircuitOpen, message)
            .with_attempts(0)
            .with_source(open.last.clone())
    }

    /// Waits for the next attempt of a call that failed because of `why`, or until the circuit opens.
    pub(crate) async fn wait(&self, mut until: Instant, why: String) {
        // Created before the circuit is checked, so that an opening in between is noticed.
        let opened = self.opened.notified();
        let _waiting = {
            let mut state = self.state();
            if state.open.is_some() {
                return;
            }
            // The attempt that may open the circuit is not put off.
            if let Some(failing) = &state.failing
                && self.is_never_there(failing)
            {
                until = until.min(failing.since + self.patience(failing));
            }
            let number = state.number();
            state.waiting.insert(number, (until, why.into()));
            Waiting {
                breaker: self,
                number,
            }
        };
        tokio::select! {
            () = opened => {}
            () = tokio::time::sleep_until(until) => {}
        }
    }

    /// Updates the circuit with the result of an attempt that began at `began`.
    fn learn(&self, began: Instant, result: &Result<ChatReply, ModelError>) {
        let now = Instant::now();
        let mut state = self.state();
        let error = match result {
            Ok(_) => return self.answered(state, now),
            Err(error) => error,
        };
        let failure = CallFailure::of(error);
        if failure.is_some_and(|failure| failure.status.is_some()) {
            self.answered.store(true, Relaxed);
        }
        match error.kind() {
            ModelErrorKind::Transient | ModelErrorKind::RateLimited | ModelErrorKind::Malformed => {
            }
            // The endpoint refuses this request, so it is reachable.
            ModelErrorKind::Permanent
                if failure.is_some_and(|failure| failure.status.is_some()) =>
            {
                return self.answered(state, now);
            }
            _ => return,
        }
        let failure = failure.cloned().unwrap_or_else(|| CallFailure {
            reason: error.to_string(),
            ..CallFailure::default()
        });
        state.fail(began, now, failure);
        self.open_if_due(state, now);
    }

    /// How long attempts may fail until the circuit opens.
    fn patience(&self, failing: &Failing) -> Duration {
        match self.is_never_there(failing) {
            true => self.opens_after.min(NEVER_THERE),
            false => self.opens_after,
        }
    }

    /// Whether the endpoint has refused every connection so far. A longer time than the default is for a server that has yet
    /// to start.
    fn is_never_there(&self, failing: &Failing) -> bool {
        failing.refused && self.opens_after <= OPENS_AFTER && !self.answered.load(Relaxed)
    }

    fn answered(&self, mut state: MutexGuard<'_, State>, now: Instant) {
        self.answered.store(true, Relaxed);
        state.failing = None;
        let Some(open) = state.open.take() else {
            return;
        };
        drop(state);
        let lasted = now.duration_since(open.since);
        tracing::warn!(
            model = %self.model,
            endpoint = %self.endpoint,
            seconds = lasted.as_secs(),
            "circuit breaker closed: the endpoint answers again"
        );
        let closed = CircuitBreakerClosed {
            model: Arc::clone(&self.model),
            endpoint: Arc::clone(&self.endpoint),
            open_for: lasted.as_secs_f64(),
        };
        self.journal
            .record(Event::new(EventBody::CircuitBreakerClosed(closed)));
    }

    fn open_if_due(&self, mut state: MutexGuard<'_, State>, now: Instant) {
        let Some(failing) = &state.failing else {
            return;
        };
        let lasting = now.duration_since(failing.since);
        let attempts = failing.attempts;
        if state.open.is_some() || lasting < self.patience(failing) || attempts < IN_EARNEST {
            return;
        }
        let open = Open {
            since: now,
            next_probe: now + PROBE_EVERY,
            why: format!(
                "nothing was answered well for {} s and {attempts} attempts failed, the last with {}",
                lasting.as_secs(),
                failing.last
            ),
            never_there: self.is_never_there(failing),
            last: failing.last.clone(),
        };
        let last = open.last.to_string();
        state.open = Some(open);
        drop(state);
        self.opened.notify_waiters();
        tracing::warn!(
            model = %self.model,
            endpoint = %self.endpoint,
            seconds = lasting.as_secs(),
            attempts,
            last = %last,
            "circuit breaker opened: the remaining calls fail at once; the endpoint is tried every 30 s"
        );
        let opened = CircuitBreakerOpened {
            model: Arc::clone(&self.model),
            endpoint: Arc::clone(&self.endpoint),
            failing_for: lasting.as_secs_f64(),
            attempts,
            reason: last,
        };
        self.journal
            .record(Event::new(EventBody::CircuitBreakerOpened(opened)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Records the failure of an attempt that began at `began`.
    fn fail(&mut self, began: Instant, now: Instant, failure: CallFailure) {
        let is_open = self.open.is_some();
        match &mut self.failing {
            Some(failing) if is_open || began <= failing.newest + LEFT_ALONE => {
                failing.attempts = failing.attempts.saturating_add(1);
                failing.newest = now;
                failing.refused &= failure.no_reply == Some(NoReply::Refused);
                failing.last = failure;
            }
            failing => {
                *failing = Some(Failing {
                    since: now,
                    newest: now,
                    attempts: 1,
                    refused: failure.no_reply == Some(NoReply::Refused),
                    last: failure,
                });
            }
        }
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("model", &self.model)
            .field("endpoint", &self.endpoint)
            .field("opens_after", &self.opens_after)
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

/// An attempt in flight. An attempt that is dropped, as when a call is cancelled, counts neither as an answer nor as a failure.
pub(crate) struct Attempt<'a> {
    breaker: &'a CircuitBreaker,
    number: u64,
    began: Instant,
}

impl Attempt<'_> {
    /// Ends the attempt.
    pub(crate) fn finish(self, result: &Result<ChatReply, ModelError>) {
        self.breaker.learn(self.began, result);
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.breaker.state().in_flight.remove(&self.number);
    }
}

/// A call that waits for its next attempt.
struct Waiting<'a> {
    breaker: &'a CircuitBreaker,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.breaker.state().waiting.remove(&self.number);
    }
}

/// The state of a model: attempts in flight, waiting calls, and since when it has failed.
#[derive(Clone, Debug)]
pub struct ModelStatus {
    /// The model's name on the wire.
    pub model: Arc<str>,
    /// The model's base URL, without secrets.
    pub endpoint: Arc<str>,
    /// Attempts in flight.
    pub in_flight: usize,
    /// The age of the oldest attempt in flight.
    pub longest: Option<Duration>,
    /// Calls that wait for their next attempt.
    pub waiting: usize,
    /// The time until the first of these attempts, and why the previous attempt failed.
    pub next_attempt: Option<(Duration, Arc<str>)>,
    /// The failures since the last answer; `None` when there are none.
    pub failing: Option<FailingStatus>,
    /// The time until the endpoint is tried again. `None`: the circuit is closed.
    pub next_probe: Option<Duration>,
    /// The batches that are waited for; `None` when there are none.
    pub batches: Option<BatchesStatus>,
}

/// Batches of requests at a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchesStatus {
    /// How many there are.
    pub batches: u64,
    /// The requests in them.
    pub requests: u64,
    /// Those of them that are done.
    pub done: u64,
    /// The time since the oldest was sent.
    pub longest: Duration,
}

/// Attempts that failed since the last answer.
#[derive(Clone, Debug)]
pub struct FailingStatus {
    /// The time since the first of them failed.
    pub lasting: Duration,
    /// The number of attempts.
    pub attempts: u32,
    /// Why the last one failed.
    pub last: String,
    /// The time until calls begin to fail at once if no attempt is answered; the first failure after that opens the circuit.
    pub opens_in: Duration,
}

/// The models of a run and their states, for a progress display. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Vec<Arc<CircuitBreaker>>>>);

impl Health {
    /// No models yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state of each model, in the order in which the models were created.
    #[must_use]
    pub fn status(&self) -> Vec<ModelStatus> {
        let breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.iter().map(|breaker| breaker.status()).collect()
    }

    pub(crate) fn add(&self, breaker: &Arc<CircuitBreaker>) {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.push(Arc::clone(breaker));
    }
}
