//! The layer of retries.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use rand::Rng;
use schema::{
    ChatModel, ChatReply, ChatRequest, Event, Journal, ModelError, ModelErrorKind, ModelId, Spend,
};

use crate::{CallFailure, Stop, limited::cancelled};

/// The same failure this many times in a row is taken for lasting.
const SAME_IN_A_ROW: u32 = 3;

/// How often and when a failed call is tried again.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Attempts of a call that fails in passing: no connection, a timeout, a 5xx. At least 1.
    pub max_attempts: u32,
    /// Attempts of a call that is rate limited: more, because nothing is broken.
    pub max_rate_limited: u32,
    /// Attempts of a call that is answered with something that is no completion.
    pub max_malformed: u32,
    /// The longest wait before the second attempt. Each further wait may be twice as long.
    pub base_delay: Duration,
    /// No wait is longer than this, unless the endpoint asks for it.
    pub max_delay: Duration,
    /// The longest wait that an endpoint may ask for.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// 6 attempts, 12 when rate limited, 3 when malformed; waits of up to 1, 2, 4 ... 60 seconds, 120 if asked for.
    fn default() -> Self {
        Self {
            max_attempts: 6,
            max_rate_limited: 12,
            max_malformed: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            max_retry_after: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    /// How many attempts a failure of this kind may take in all.
    fn attempts(&self, kind: ModelErrorKind) -> u32 {
        match kind {
            ModelErrorKind::Transient => self.max_attempts,
            ModelErrorKind::RateLimited => self.max_rate_limited,
            ModelErrorKind::Malformed => self.max_malformed,
            _ => 1,
        }
    }

    /// How long to wait after attempt `attempt` (from 1). Random, so that calls that failed together do not return together.
    fn delay(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let longest = self
            .base_delay
            .saturating_mul(1 << doublings)
            .min(self.max_delay);
        match retry_after {
            // Not before the endpoint said, and not all at once then.
            Some(asked) => {
                let spread = self.base_delay.min(self.max_delay);
                asked
                    .min(self.max_retry_after)
                    .saturating_add(spread.mul_f64(rand::rng().random()))
            }
            None => longest.mul_f64(rand::rng().random()),
        }
    }
}

/// A model whose failed calls are tried again, as a [`RetryPolicy`] says.
///
/// Failures that will not go away (a bad key, an unknown model) are not tried again, nor is an error that comes back the same
/// three times in a row, timeouts among them. Every retry is journaled as `retrying call`, every call that failed for good as `model call failed`. Attempts
/// that failed but were billed are counted in the reply or the error.
pub struct Retried<M> {
    inner: M,
    policy: RetryPolicy,
    journal: Arc<dyn Journal>,
    stop: Stop,
}

impl<M: ChatModel> Retried<M> {
    /// `inner` with retries. Once `stop` is thrown, nothing is tried again.
    #[must_use]
    pub fn new(inner: M, policy: RetryPolicy, journal: Arc<dyn Journal>, stop: Stop) -> Self {
        Self {
            inner,
            policy,
            journal,
            stop,
        }
    }

    /// Whether a failed call is tried again, and when.
    fn next_delay(&self, error: &ModelError, history: &History) -> Option<Duration> {
        if history.attempt >= self.policy.attempts(error.kind()) || history.same >= SAME_IN_A_ROW {
            return None;
        }
        let retry_after = CallFailure::of(error).and_then(|failure| failure.retry_after);
        Some(self.policy.delay(history.attempt, retry_after))
    }

    fn event(
        &self,
        message: &'static str,
        request: &ChatRequest,
        error: &ModelError,
        attempt: u32,
    ) -> Event {
        let context = &request.context;
        let failure = CallFailure::of(error);
        let status = failure
            .and_then(|failure| failure.status)
            .map_or(serde_json::Value::Null, serde_json::Value::from);
        Event::new(message, "Retried", "chat")
            .item(context.item.as_ref())
            .with("model", self.id())
            .with("purpose", context.purpose.as_str())
            .with("row", Arc::clone(&context.row))
            .with("sample", context.sample)
            .with("turn", context.turn)
            .with("attempt", attempt)
            .with("kind", error.kind().as_str())
            .with("status", status)
            .with(
                "reason",
                failure.map_or_else(|| error.to_string(), |failure| failure.reason.clone()),
            )
    }
}

/// What happened to one call so far.
#[derive(Default)]
struct History {
    attempt: u32,
    /// How often in a row the endpoint failed in the same way, with the same status and the same body.
    same: u32,
    last: Option<(Option<u16>, u64)>,
    spend: Spend,
}

impl History {
    fn add(&mut self, error: &ModelError) {
        self.attempt += 1;
        self.spend.add(error.spend());
        let failure = CallFailure::of(error).filter(|_| {
            matches!(
                error.kind(),
                ModelErrorKind::Transient | ModelErrorKind::Malformed
            )
        });
        let this = failure.and_then(|failure| Some((failure.status, failure.body_hash?)));
        self.same = match this {
            Some(_) if this == self.last => self.same + 1,
            Some(_) => 1,
            None => 0,
        };
        self.last = this;
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Retried<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let mut history = History::default();
        loop {
            let error = match self.inner.chat(request).await {
                Ok(mut reply) => {
                    reply.failed_attempts.add(&history.spend);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if matches!(
                error.kind(),
                ModelErrorKind::Cancelled | ModelErrorKind::OverBudget
            ) {
                history.spend.add(error.spend());
                return Err(error
                    .with_attempts(history.attempt)
                    .with_spend(history.spend));
            }
            history.add(&error);
            let attempt = history.attempt;
            let Some(delay) = self.next_delay(&error, &history) else {
                let event = self.event("model call failed", request, &error, attempt);
                self.journal
                    .record(event.with("message_text", error.to_string()));
                return Err(error.with_attempts(attempt).with_spend(history.spend));
            };
            let event = self.event("retrying call", request, &error, attempt);
            self.journal
                .record(event.with("delay", delay.as_secs_f64()));
            tokio::select! {
                biased;
                () = self.stop.stopped() => {
                    return Err(cancelled(request, self.id())
                        .with_attempts(attempt)
                        .with_spend(history.spend));
                }
                () = tokio::time::sleep(delay) => {}
            }
        }
    }
}
