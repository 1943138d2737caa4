//! The model under test.

use std::sync::Arc;

use schema::{
    ChatModel, ChatRequest, FinishReason, Item, Message, ModelId, PhaseError, Purpose,
    RepeatedPrefix, Role, Spend, Turn, text::is_blank,
};

/// The model under test and its system prompt. It sees only this prompt and the conversation.
pub struct Target {
    model: Arc<dyn ChatModel>,
    system: Option<Arc<str>>,
}

/// What the target answered.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetReply {
    /// The assistant message, with the reason if it ended early.
    pub turn: Turn,
    /// What the call used and cost.
    pub spend: Spend,
}

impl TargetReply {
    /// Why the reply does not count as one: it is empty or blank, so there is nothing to score.
    #[must_use]
    pub fn nothing_said(&self) -> Option<String> {
        if !is_blank(&self.turn.content) {
            return None;
        }
        Some(match &self.turn.finish_reason {
            None => "the target's reply is empty".to_owned(),
            Some(FinishReason::Length) => {
                "the target's reply is empty: the token limit was reached before anything was said; raise max_tokens".to_owned()
            }
            Some(FinishReason::ContentFilter) => {
                "the target's reply is empty: the provider's filter stopped it".to_owned()
            }
            Some(other) => format!(
                "the target's reply is empty; the endpoint says it ended by {:?}",
                other.as_str()
            ),
        })
    }
}

impl Target {
    /// A target without a system prompt.
    #[must_use]
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            system: None,
        }
    }

    /// Sets its system prompt. A blank one counts as none.
    #[must_use]
    pub fn with_system_prompt(mut self, system: Option<Arc<str>>) -> Self {
        self.system = system.filter(|text| !is_blank(text));
        self
    }

    /// The target's id.
    #[must_use]
    pub fn id(&self) -> &ModelId {
        self.model.id()
    }

    /// The conversation of `item` is over: a target that keeps it on its side closes it.
    pub async fn end(&self, item: &Item) {
        let context = item.call(Purpose::TargetTurn, 0);
        self.model.end_conversation(&context).await;
    }

    /// Requests the target's reply to `conversation`, which ends with a user message. The turn of the call is the number of
    /// user messages; the whole conversation has `exchanges` of them at most.
    ///
    /// # Errors
    /// When the call fails for good, the run is stopping, or the budget is spent. An empty reply is not an error: see
    /// [`TargetReply::nothing_said`].
    pub async fn reply(
        &self,
        conversation: &[Turn],
        item: &Item,
        exchanges: u32,
    ) -> Result<TargetReply, PhaseError> {
        let users = conversation.iter().filter(|turn| turn.role == Role::User);
        let number = u32::try_from(users.count()).unwrap_or(u32::MAX);
        let system = self
            .system
            .iter()
            .map(|text| Message::new(Role::System, Arc::clone(text)));
        let said = conversation.iter().map(|turn| Message {
            reasoning: turn.returned_reasoning.clone(),
            ..Message::new(turn.role, Arc::clone(&turn.content))
        });
        let messages: Vec<Message> = system.chain(said).collect();
        let repeated = RepeatedPrefix {
            messages: match number < exchanges {
                true => messages.len(),
                // Those of the request before, or the system prompt alone.
                false => messages
                    .len()
                    .saturating_sub(if number > 1 { 2 } else { 1 }),
            },
            in_conversation: exchanges > 1,
        };
        let request = ChatRequest {
            repeated,
            ..ChatRequest::new(messages, item.call(Purpose::TargetTurn, number))
        };
        let reply = self.model.chat(&request).await.map_err(|error| {
            PhaseError::from_model(format!("target {}, turn {number}", self.id()), error)
        })?;
        let spend = reply.spend();
        let finish = Some(reply.finish).filter(|finish| *finish != FinishReason::Stop);
        Ok(TargetReply {
            turn: Turn {
                reasoning: reply.reasoning.map(Arc::from),
                returned_reasoning: reply.returned_reasoning,
                finish_reason: finish,
                ..Turn::new(Role::Assistant, reply.content)
            },
            spend,
        })
    }
}
