//! The content of a reply, fetched or from the cache.

use std::{sync::Arc, time::Duration};

use schema::{
    ChatReply, Exchange, FinishReason, Message, Origin, Purpose, ReturnedReasoning, Spend,
    ToolCall, Usage, reasoning::ReasoningOpening,
};
use serde::{Deserialize, Serialize};

use crate::{
    native,
    wire::{self, Blocks},
};

/// The content of a reply, whatever the wire looks like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplyBody {
    /// Like all fields, as in [`ChatReply`].
    pub content: String,
    /// The reasoning, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The reasoning as the endpoint returned it in a field of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_reasoning: Option<Arc<ReturnedReasoning>>,
    /// The tools that the model calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What an application with tools of its own did before the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Message>,
    /// Why the reply ended.
    pub finish: FinishReason,
    /// Tokens of the attempt that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Dollars of that attempt when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The model's name as the endpoint echoed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a program that answered spent on models of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<Spend>,
}

impl From<&ChatReply> for ReplyBody {
    fn from(reply: &ChatReply) -> Self {
        Self {
            content: reply.content.clone(),
            reasoning: reply.reasoning.clone(),
            returned_reasoning: reply.returned_reasoning.clone(),
            tool_calls: reply.tool_calls.clone(),
            steps: reply.steps.clone(),
            finish: reply.finish.clone(),
            usage: reply.usage,
            cost: reply.cost,
            model: reply.model.clone(),
            called: (reply.called.calls > 0).then_some(reply.called),
        }
    }
}

impl ReplyBody {
    /// The content of `body`, the body of a reply to a call of `purpose`, as the run reads it from an endpoint or the cache; `None` if it is
    /// not of an interface that is known. A block that the chat template opens is not known from the body.
    #[must_use]
    pub fn read(body: &str, purpose: Purpose) -> Option<Self> {
        let completion = wire::parse(body, Blocks::of(purpose, ReasoningOpening::Reply));
        completion.ok().or_else(|| native::read_any(body))
    }

    /// The reply with this content.
    pub(crate) fn into_reply(self, origin: Origin, exchange: Option<Arc<Exchange>>) -> ChatReply {
        ChatReply {
            content: self.content,
            reasoning: self.reasoning,
            returned_reasoning: self.returned_reasoning,
            tool_calls: self.tool_calls,
            steps: self.steps,
            finish: self.finish,
            usage: self.usage,
            cost: self.cost,
            failed_attempts: Spend::default(),
            called: self.called.unwrap_or_default(),
            model: self.model,
            origin,
            at: None,
            run_time: Duration::ZERO,
            rates_left: Vec::new(),
            exchange,
        }
    }
}
