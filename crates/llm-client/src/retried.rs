//! The layer of retries.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, Event, EventBody, Journal, ModelError, ModelErrorKind,
    ModelId, Spend, event::FailedAttempt,
};

use tokio::time::Instant;

use crate::{CallFailure, CircuitBreaker, Stop, circuit::Mark, limited::cancelled};

/// Where the request itself is the cause, the same failure this many times in a row is treated as permanent.
const SAME_IN_A_ROW: u32 = 3;
/// The same failure for this long is treated as permanent, whatever its cause. A hanging endpoint takes long over each attempt.
const SAME_FOR: Duration = Duration::from_secs(300);

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
/// Permanent failures (a bad key, an unknown model) are not retried. For temporary ones, the last attempt is the one that the policy
/// allows, or an earlier one: an error that is the same three times in a row while the model answers other requests is caused by this
/// request; and no call is retried for more than five minutes with the same failure. A call also ends when the model's
/// [`CircuitBreaker`] opens.
///
/// Every retry is journaled as `retrying call`, every call that failed for good as `model call failed`. Failed attempts that were
/// billed are counted in the reply or the error.
pub struct Retried<M> {
    inner: M,
    policy: RetryPolicy,
    journal: Arc<dyn Journal>,
    breaker: Option<Arc<CircuitBreaker>>,
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
            stop,
        }
    }

    /// Fails calls while `breaker` is open. The attempts below report to it.
    #[must_use]
    pub fn with_breaker(mut self, breaker: Arc<CircuitBreaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// The wait before the next attempt of a failed call; `None` if it is not retried.
    fn next_delay(&self, error: &ModelError, history: &History) -> Option<Duration> {
        if history.attempt >= self.policy.attempts(error.kind())
            || history.is_lasting(self.breaker.as_deref())
        {
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
    streak: Option<Streak>,
    spend: Spend,
}

/// Consecutive equal failures: the same status and the same body.
struct Streak {
    status: Option<u16>,
    body: u64,
    count: u32,
    /// How many of these failures came after an answer to another request that was sent after the previous failure.
    beside_answers: u32,
    began: Instant,
    newest: Instant,
    /// The counts of the model's other answers when the streak began.
    mark: Mark,
}

impl History {
    fn add(&mut self, error: &ModelError, breaker: Option<&CircuitBreaker>) {
        self.attempt += 1;
        self.spend.add(error.spend());
        let failure = CallFailure::of(error).filter(|_| {
            matches!(
                error.kind(),
                ModelErrorKind::Transient | ModelErrorKind::Malformed
            )
        });
        let Some((status, body)) = failure.and_then(|it| Some((it.status, it.body_hash?))) else {
            self.streak = None;
            return;
        };
        let now = Instant::now();
        match &mut self.streak {
            Some(streak) if (streak.status, streak.body) == (status, body) => {
                streak.count += 1;
                if breaker.is_some_and(|breaker| breaker.answered_since(streak.newest)) {
                    streak.beside_answers += 1;
                }
                streak.newest = now;
            }
            streak => {
                *streak = Some(Streak {
                    status,
                    body,
                    count: 1,
                    beside_answers: 0,
                    began: now,
                    newest: now,
                    mark: breaker.map(CircuitBreaker::mark).unwrap_or_default(),
                });
            }
        }
    }

    /// Whether a further attempt would also fail.
    fn is_lasting(&self, breaker: Option<&CircuitBreaker>) -> bool {
        let Some(streak) = &self.streak else {
            return false;
        };
        if streak.count < SAME_IN_A_ROW {
            return false;
        }
        let own = u64::from(streak.count - 1);
        let alone = streak.beside_answers + 1 >= SAME_IN_A_ROW
            && breaker.is_some_and(|breaker| breaker.mostly_answers(streak.mark, own));
        alone || streak.newest.duration_since(streak.began) >= SAME_FOR
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Retried<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
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
                    reply.failed_attempts.add(&history.spend);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if matches!(
                error.kind(),
                ModelErrorKind::Cancelled
                    | ModelErrorKind::OverBudget
                    | ModelErrorKind::CircuitOpen
            ) {
                history.spend.add(error.spend());
                return Err(error
                    .with_attempts(history.attempt)
                    .with_spend(history.spend));
            }
            history.add(&error, breaker);
            let attempt = history.attempt;
            let Some(delay) = self.next_delay(&error, &history) else {
                let failed = FailedAttempt {
                    message_text: Some(error.to_string()),
                    ..self.failed(request, &error, attempt)
                };
                self.record(request, EventBody::ModelCallFailed(failed));
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
