//! The layer of limits.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, ModelError, ModelErrorKind,
    ModelId, PhaseProgram,
};

use crate::{
    CallFailure, CircuitBreaker, Stop,
    failure::role,
    limiter::{Limiter, Outcome},
};

/// Characters per token of a message, as an estimate.
pub(crate) const CHARACTERS_PER_TOKEN: usize = 4;

/// A model whose attempts go through a [`Limiter`]. A permit is held during one attempt only.
///
/// Once the [`Stop`] is thrown, calls are refused with [`ModelErrorKind::Cancelled`], including those that wait for a
/// permit; calls in flight finish.
pub struct Limited<M> {
    inner: M,
    limiter: Arc<Limiter>,
    /// The most tokens of a reply, if known; part of the estimate.
    max_tokens: Option<u32>,
    breaker: Option<Arc<CircuitBreaker>>,
    stop: Stop,
}

impl<M: ChatModel> Limited<M> {
    /// `inner` behind `limiter`. `max_tokens` are the most tokens of a reply, for the estimate.
    #[must_use]
    pub fn new(inner: M, limiter: Arc<Limiter>, max_tokens: Option<u32>, stop: Stop) -> Self {
        Self {
            inner,
            limiter,
            max_tokens,
            breaker: None,
            stop,
        }
    }

    /// Refuses attempts while `breaker` is open, and reports to it.
    #[must_use]
    pub fn with_breaker(mut self, breaker: Arc<CircuitBreaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    fn estimate(&self, request: &ChatRequest) -> u32 {
        if !self.limiter.counts_tokens() {
            return 0;
        }
        let characters: usize = request
            .messages
            .iter()
            .map(|message| message.content.chars().count())
            .sum();
        let tokens = u32::try_from(characters.div_ceil(CHARACTERS_PER_TOKEN)).unwrap_or(u32::MAX);
        tokens.saturating_add(self.max_tokens.unwrap_or(0)).max(1)
    }
}

/// Waits until `breaker` refuses calls, which never happens without one.
async fn refuses(
    breaker: Option<&CircuitBreaker>,
    request: &ChatRequest,
    id: &ModelId,
) -> ModelError {
    match breaker {
        Some(breaker) => breaker.refuses(request, id).await,
        None => std::future::pending().await,
    }
}

/// The error of a call that was not made because the run is stopping.
pub(crate) fn cancelled(request: &ChatRequest, id: &ModelId) -> ModelError {
    let message = format!(
        "{} {id} was not asked: the run is stopping",
        role(request.context.purpose)
    );
    ModelError::new(ModelErrorKind::Cancelled, message).with_attempts(0)
}

#[async_trait]
impl<M: ChatModel> ChatModel for Limited<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if self.stop.is_stopped() {
            return Err(cancelled(request, self.id()));
        }
        let breaker = self.breaker.as_deref();
        // Usually a permit is free, and there is nothing to wait for.
        let permit = match self.limiter.try_acquire() {
            Some(permit) => permit,
            None => tokio::select! {
                biased;
                () = self.stop.stopped() => return Err(cancelled(request, self.id())),
                error = refuses(breaker, request, self.id()) => return Err(error),
                permit = self.limiter.acquire(self.estimate(request)) => permit,
            },
        };
        let attempt = breaker
            .map(|breaker| breaker.begin(request, self.id()))
            .transpose()?;
        let result = self.inner.chat(request).await;
        if let Some(attempt) = attempt {
            attempt.finish(&result);
        }
        permit.finish(match &result {
            Ok(reply) => Outcome::Answered(reply),
            Err(error) if error.kind() == ModelErrorKind::RateLimited => {
                let failure = CallFailure::of(error);
                Outcome::RateLimited(failure.and_then(|failure| failure.retry_after))
            }
            Err(_) => Outcome::Other,
        });
        result
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
