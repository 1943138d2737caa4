//! What answers calls of tools: the extension point, and answers that are written in the benchmark.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{CallContext, Extra, PhaseError, Spend, ToolAnswer, ToolSpec, text::hex};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Answers the calls of a tool. An extension point: implement it to have calls answered by a program or a sandbox of your own.
///
/// One answerer serves all conversations at the same time. What it remembers of one conversation it must keep under
/// [`CallContext::row`] and [`CallContext::sample`], or take from [`ToolRequest::earlier`].
///
/// A run that was killed plays its conversations again over cached replies, and then asks for every answer again: an answerer
/// that gives another answer than before leads the conversation elsewhere.
#[async_trait]
pub trait ToolAnswerer: Send + Sync {
    /// Answers one call. The arguments fit the tool's schema.
    ///
    /// What the target did wrong is not an error but a [`ToolReply::error`], which it gets.
    ///
    /// # Errors
    /// When there is no answer at all: it costs the conversation, which keeps what was said. An error of the kinds `Cancelled`
    /// and `OverBudget` leaves no conversation.
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed>;

    /// What decides its answers, for the simulator's fingerprint.
    fn fingerprint(&self) -> Value;
}

/// A call to be answered.
#[derive(Clone, Copy, Debug)]
pub struct ToolRequest<'a> {
    /// The tool that is called.
    pub tool: &'a ToolSpec,
    /// The arguments.
    pub arguments: &'a Extra,
    /// The world that the tool acts in. Empty: it is not described.
    pub world_state: &'a str,
    /// The calls of this conversation so far with their answers, the oldest first. Calls that were refused are among them.
    pub earlier: &'a [AnsweredCall],
    /// What the call is for: which conversation, turn and step. Its purpose is `ToolAnswer`.
    pub context: &'a CallContext,
}

/// A call that was answered earlier in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The tool, as the target named it.
    pub name: String,
    /// The arguments, as the target wrote them.
    pub arguments: String,
    /// The answer.
    pub answer: Arc<str>,
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReply {
    /// The text that the target is given.
    pub text: Arc<str>,
    /// Whether the call was refused.
    pub is_error: bool,
    /// What the calls to models behind the answer used and cost. The models have to be journaled, with the context of the request:
    /// the check of a journal misses calls that were not journaled.
    pub spend: Spend,
}

impl ToolReply {
    /// An answer that cost nothing.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            spend: Spend::default(),
        }
    }

    /// The answer to a call that cannot be done: `{"error": reason}`. The reason should tell the target what it can do.
    #[must_use]
    pub fn error(reason: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::new(json!({"error": reason.into()}).to_string())
        }
    }
}

/// A call that was not answered, and what that cost.
#[derive(Debug)]
pub struct ToolFailed {
    /// Why.
    pub error: PhaseError,
    /// What was used and cost all the same, as in [`ToolReply::spend`].
    pub spend: Spend,
}

impl From<PhaseError> for ToolFailed {
    fn from(error: PhaseError) -> Self {
        Self {
            error,
            spend: Spend::default(),
        }
    }
}

/// The same answer to every call.
pub(super) struct FixedAnswer(pub(super) Value);

/// Answers by arguments.
pub(super) struct AnswerTable(pub(super) Vec<ToolAnswer>);

#[async_trait]
impl ToolAnswerer for FixedAnswer {
    async fn answer(&self, _request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        Ok(ToolReply::new(text(&self.0)))
    }

    fn fingerprint(&self) -> Value {
        json!({ "answer": hash(&self.0) })
    }
}

#[async_trait]
impl ToolAnswerer for AnswerTable {
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        let fits = |row: &&ToolAnswer| row.fits(request.arguments);
        Ok(match self.0.iter().find(fits) {
            Some(row) => ToolReply::new(text(&row.answer)),
            None => ToolReply::error(format!(
                "{} has no answer to these arguments; check them, or do without it",
                request.tool.name
            )),
        })
    }

    fn fingerprint(&self) -> Value {
        json!({ "answers": hash(&json!(self.0)) })
    }
}

/// Text as it is, anything else as JSON.
fn text(answer: &Value) -> Arc<str> {
    match answer {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// The SHA-256 of a value, in hexadecimal, for fingerprints.
pub(super) fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string()))
}
