//! The layer of retries.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Event, EventBody, Journal,
    ModelError, ModelErrorKind, ModelId, PhaseProgram, Spend, event::FailedAttempt,
};

use tokio::time::Instant;

use crate::{
    CallFailure, CircuitBreaker, NoReply, Stop, denied::DeniedTargets, limited::cancelled,
};

/// At least this many timeouts in a row, over at least [`HANGING_FOR`], end a call: a hanging endpoint takes long over each attempt.
const HANGING_ATTEMPTS: u32 = 3;
/// See [`HANGING_ATTEMPTS`].
const HANGING_FOR: Duration = Duration::from_secs(300);

/// The shortest random wait, as a share of the longest.
const SHORTEST: f64 = 0.5;

/// How often and when a failed call is retried.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Attempts of a call that fails temporarily: no connection, a timeout, a 5xx. At least 1.
    pub max_attempts: u32,
    /// Attempts of a call that is rate limited: more, because nothing is broken. At least `max_attempts`.
    pub max_rate_limited: u32,
    /// Attempts of a call whose reply is not a completion.
    pub max_malformed: u32,
    /// The longest wait before the second attempt. The shortest is half of it. Each further wait is twice as long.
    pub base_delay: Duration,
    /// The longest wait, unless the endpoint asks for more.
    pub max_delay: Duration,
    /// The longest wait that an endpoint may ask for.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// 10 attempts, 16 when rate limited, 3 when malformed; waits of up to 1, 2, 4 ... 30 seconds and at least half of that, 120 if
    /// the endpoint asks for it. Ten attempts take at least 75 seconds, so an endpoint may be unavailable for a minute.
    fn default() -> Self {
        Self {
            max_attempts: 10,
            max_rate_limited: 16,
            max_malformed: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    /// The most attempts for a failure of this kind.
    fn attempts(&self, kind: ModelErrorKind) -> u32 {
        match kind {
            ModelErrorKind::Transient => self.max_attempts,
            ModelErrorKind::RateLimited => self.max_rate_limited.max(self.max_attempts),
            ModelErrorKind::Malformed => self.max_malformed,
            _ => 1,
        }
    }

    /// How long to wait after attempt `attempt` (from 1). Random, so that calls that failed together are not retried together.
    fn delay(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        let longest = self.longest_delay(attempt);
        match retry_after {
            // Not before the time that the endpoint gave, and not all at once then.
            Some(asked) => {
                let spread = self.base_delay.min(self.max_delay);
                asked
                    .min(self.max_retry_after)
                    .saturating_add(spread.mul_f64(fastrand::f64()))
            }
            None => longest.mul_f64(SHORTEST + (1.0 - SHORTEST) * fastrand::f64()),
        }
    }

    fn longest_delay(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.base_delay
            .saturating_mul(1 << doublings)
            .min(self.max_delay)
    }
}

/// A model whose failed calls are retried according to a [`RetryPolicy`].
///
/// Permanent failures (a bad key, an unknown model, a refused request) are not retried. A call that fails temporarily has all attempts of
/// the policy, whatever other requests get: what it got three times may pass the fourth time. Only timeouts in a row end a call earlier,
/// after five minutes. A call also ends when the model's [`CircuitBreaker`] opens.
///
/// Every retry is journaled as `retrying call`, every call that failed for good as `model call failed`. Failed attempts that were
/// billed are counted in the reply or the error.
pub struct Retried<M> {
    inner: M,
    policy: RetryPolicy,
    journal: Arc<dyn Journal>,
    breaker: Option<Arc<CircuitBreaker>>,
    denied: DeniedTargets,
    stop: Stop,
}

impl<M: ChatModel> Retried<M> {
    /// `inner` with retries. Once `stop` is thrown, no call is retried.
    #[must_use]
    pub fn new(inner: M, policy: RetryPolicy, journal: Arc<dyn Journal>, stop: Stop) -> Self {
        Self {
            inner,
            policy,
            journal,
            breaker: None,
            denied: DeniedTargets::default(),
            stop,
        }
    }

    /// Fails calls while `breaker` is open. The attempts below report to it.
    #[must_use]
    pub fn with_breaker(mut self, breaker: Arc<CircuitBreaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Makes no call for a target in `denied`, and adds this model if it is a target that refuses its key.
    #[must_use]
    pub(crate) fn with_denied(mut self, denied: DeniedTargets) -> Self {
        self.denied = denied;
        self
    }

    /// The wait before the next attempt of a failed call; `None` if it is not retried.
    fn next_delay(&self, error: &ModelError, history: &History) -> Option<Duration> {
        if history.attempt >= self.policy.attempts(error.kind()) || history.is_lasting() {
            return None;
        }
        let retry_after = CallFailure::of(error).and_then(|failure| failure.retry_after);
        Some(self.policy.delay(history.attempt, retry_after))
    }

    fn failed(&self, request: &ChatRequest, error: &ModelError, attempt: u32) -> FailedAttempt {
        let context = &request.context;
        let failure = CallFailure::of(error);
        FailedAttempt {
            model: self.id().shared(),
            purpose: context.purpose.as_str().into(),
            row: Arc::clone(&context.row),
            sample: context.sample,
            turn: context.turn,
            attempt,
            kind: error.kind().as_str().into(),
            status: failure.and_then(|failure| failure.status),
            reason: failure.map_or_else(|| error.to_string(), |failure| failure.reason.clone()),
            delay: None,
            message_text: None,
        }
    }

    fn record(&self, request: &ChatRequest, body: EventBody) {
        request.context.record(Event::new(body), &*self.journal);
    }
}

/// The attempts of one call so far.
#[derive(Default)]
struct History {
    attempt: u32,
    hanging: Option<Hanging>,
    spend: Spend,
}

/// Timeouts in a row.
struct Hanging {
    count: u32,
    began: Instant,
}

impl History {
    fn add(&mut self, error: &ModelError) {
        self.attempt += 1;
        self.spend.add(error.spend());
        let failure = CallFailure::of(error);
        if failure.and_then(|failure| failure.no_reply) != Some(NoReply::Timeout) {
            self.hanging = None;
            return;
        }
        let hanging = self.hanging.get_or_insert_with(|| Hanging {
            count: 0,
            began: Instant::now(),
        });
        hanging.count += 1;
    }

    /// Whether the endpoint has hung for so long that no further attempt is made.
    fn is_lasting(&self) -> bool {
        self.hanging.as_ref().is_some_and(|hanging| {
            hanging.count >= HANGING_ATTEMPTS && hanging.began.elapsed() >= HANGING_FOR
        })
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Retried<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if let Some(error) = self.denied.refusal(request) {
            return Err(error);
        }
        let breaker = self.breaker.as_deref();
        let mut history = History::default();
        loop {
            if let Some(error) = breaker.and_then(|breaker| breaker.refusal(request, self.id())) {
                return Err(error
                    .with_attempts(history.attempt)
                    .with_spend(history.spend));
            }
            let error = match self.inner.chat(request).await {
                Ok(mut reply) => {
                    self.denied.answered(request);
                    reply.failed_attempts.add(&history.spend);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            let is_unsent = error.attempts() == 0;
            if matches!(
                error.kind(),
                ModelErrorKind::Cancelled
                    | ModelErrorKind::OverBudget
                    | ModelErrorKind::CircuitOpen
            ) || (is_unsent && error.kind() == ModelErrorKind::Unseen)
            {
                history.spend.add(error.spend());
                return Err(error
                    .with_attempts(history.attempt)
                    .with_spend(history.spend));
            }
            history.add(&error);
            let attempt = history.attempt;
            let Some(delay) = self.next_delay(&error, &history) else {
                let failed = FailedAttempt {
                    message_text: Some(error.to_string()),
                    ..self.failed(request, &error, attempt)
                };
                self.record(request, EventBody::ModelCallFailed(failed));
                self.denied.failed(request, &error);
                return Err(error.with_attempts(attempt).with_spend(history.spend));
            };
            let failed = FailedAttempt {
                delay: Some(delay.as_secs_f64()),
                ..self.failed(request, &error, attempt)
            };
            self.record(request, EventBody::RetryingCall(failed));
            tokio::select! {
                biased;
                () = self.stop.stopped() => {
                    return Err(cancelled(request, self.id())
                        .with_attempts(attempt)
                        .with_spend(history.spend));
                }
                () = wait(breaker, Instant::now() + delay, &error) => {}
            }
        }
    }

    async fn conversation_room(&self) -> ConversationRoom {
        self.inner.conversation_room().await
    }

    async fn end_conversation(&self, context: &CallContext) {
        self.inner.end_conversation(context).await;
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.inner.phase_program()
    }
}

/// Waits for the next attempt of a call that failed with `error`.
async fn wait(breaker: Option<&CircuitBreaker>, until: Instant, error: &ModelError) {
    let Some(breaker) = breaker else {
        return tokio::time::sleep_until(until).await;
    };
    let why = CallFailure::of(error).map_or_else(|| error.to_string(), ToString::to_string);
    breaker.wait(until, why).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_default_waits_cover_a_minute() {
        let policy = RetryPolicy::default();
        for attempts in [policy.max_attempts, policy.max_rate_limited] {
            let longest: Duration = (1..attempts).map(|n| policy.longest_delay(n)).sum();
            assert!(longest.mul_f64(SHORTEST) > Duration::from_secs(60));
        }
        for attempt in 1..40 {
            let longest = policy.longest_delay(attempt);
            let delay = policy.delay(attempt, None);
            assert!(longest.mul_f64(SHORTEST) <= delay && delay <= longest);
        }
    }
}
