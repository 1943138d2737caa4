//! The layer that enforces the budget.

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, ModelError, ModelErrorKind,
    ModelId, PhaseProgram, Spend, Usage,
};

use crate::{
    budget::{Amount, Budget, OverBudget},
    settings::{ModelSettings, Price},
};

/// Estimated tokens of a reply when the model has no `max_tokens`.
const REPLY_TOKENS: u64 = 1024;
/// Bytes of text per token, and tokens added for each message. Common rules of thumb: the real usage replaces the estimate.
const BYTES_PER_TOKEN: u64 = 4;
const TOKENS_PER_MESSAGE: u64 = 4;

/// Makes a call only if the run's [`Budget`] allows it, and settles its real cost, failed attempts included.
///
/// The estimate of a call is one token for four bytes of text, and `max_tokens` (or 1,024) for the reply.
#[derive(Debug)]
pub struct Budgeted<M> {
    inner: M,
    budget: Budget,
    max_tokens: Option<u32>,
    price: Option<Price>,
}

/// Why a budget cannot be enforced for a model. Its text is written for users.
#[derive(Debug, thiserror::Error)]
#[error(
    "the price of model {id} ({model}) is not known, so a budget in dollars cannot be kept: give the model a price in the \
     configuration (dollars per million tokens of input and output), or set a budget in tokens instead"
)]
pub struct UnpricedModel {
    id: ModelId,
    model: String,
}

impl<M: ChatModel> Budgeted<M> {
    /// Puts `budget` before `inner`, which calls the model of `settings`.
    ///
    /// # Errors
    /// When the budget has a ceiling in dollars and the price of the model is unknown: unknown is not free.
    pub fn new(inner: M, budget: Budget, settings: &ModelSettings) -> Result<Self, UnpricedModel> {
        if budget.limits().dollars.is_some() && settings.price.is_none() {
            return Err(UnpricedModel {
                id: settings.id.clone(),
                model: settings.model.clone(),
            });
        }
        Ok(Self {
            inner,
            budget,
            max_tokens: settings.max_tokens,
            price: settings.price,
        })
    }

    fn refusal(&self, request: &ChatRequest, over: &OverBudget) -> ModelError {
        let context = &request.context;
        let (id, purpose) = (self.inner.id(), context.purpose.as_str());
        refusal(&format!("model {id}, {purpose} {}", context.row), over)
    }
}

/// The estimated cost of `request` to a model of this price, whose replies have at most `max_tokens`.
pub(crate) fn estimate(
    request: &ChatRequest,
    max_tokens: Option<u32>,
    price: Option<Price>,
) -> Amount {
    let text: u64 = request
        .messages
        .iter()
        .map(|message| message.content.len() as u64 / BYTES_PER_TOKEN + TOKENS_PER_MESSAGE)
        .sum();
    let usage = Usage {
        input_tokens: text,
        output_tokens: max_tokens.map_or(REPLY_TOKENS, u64::from),
        ..Usage::default()
    };
    Amount {
        dollars: price.map_or(0.0, |price| price.cost(&usage)),
        tokens: usage.input_tokens.saturating_add(usage.output_tokens),
    }
}

/// The error of a call that was not made, because the budget would be passed. `whose` names the model and the row.
pub(crate) fn refusal(whose: &str, over: &OverBudget) -> ModelError {
    let text = format!(
        "not asked, because the budget of the run would be passed: {over} ({whose}). What is done is kept; raise the budget and run \
         again to go on"
    );
    ModelError::new(ModelErrorKind::OverBudget, text).with_attempts(0)
}

/// The cost that the budget counts for a call. A call that was billed, or may have been, without stated tokens or price
/// costs its estimate.
pub(crate) fn actual(spend: &Spend, estimate: Amount) -> Amount {
    let unpriced = u32::try_from(spend.unpriced_calls).unwrap_or(u32::MAX);
    let tokens = spend.input_tokens.saturating_add(spend.output_tokens);
    Amount {
        dollars: spend.priced_cost + estimate.dollars * f64::from(unpriced),
        tokens: if tokens == 0 {
            estimate.tokens.saturating_mul(spend.calls)
        } else {
            tokens
        },
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Budgeted<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let estimate = estimate(request, self.max_tokens, self.price);
        let held = self
            .budget
            .reserve(estimate)
            .await
            .map_err(|over| self.refusal(request, &over))?;
        let result = self.inner.chat(request).await;
        let spend = match &result {
            Ok(reply) => reply.spend(),
            Err(error) => *error.spend(),
        };
        held.settle(actual(&spend, estimate));
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

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATE: Amount = Amount {
        dollars: 0.5,
        tokens: 100,
    };

    #[test]
    fn what_was_reported_counts_and_what_was_not_counts_as_estimated() {
        let usage = Usage {
            input_tokens: 7,
            output_tokens: 3,
            ..Usage::default()
        };
        let spent = actual(&Spend::of_call(Some(usage), Some(0.25)), ESTIMATE);
        assert_eq!((spent.dollars, spent.tokens), (0.25, 10));
        assert_eq!(actual(&Spend::of_call(None, None), ESTIMATE), ESTIMATE);
        assert_eq!(actual(&Spend::default(), ESTIMATE), Amount::default());
    }
}
