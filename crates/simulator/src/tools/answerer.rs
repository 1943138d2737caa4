//! Answers tool calls: the extension point, and answers written in the benchmark.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{CallContext, Extra, PhaseError, Spend, ToolAnswer, ToolSpec, text::hex};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Answers the calls of a tool. An extension point: implement it to answer calls with a program or a sandbox of your own.
///
/// One answerer serves all conversations at the same time. State of one conversation must be kept under [`CallContext::row`] and
/// [`CallContext::sample`], or taken from [`ToolRequest::earlier`].
///
/// A run that resumes after being killed simulates its conversations again from cached replies, and requests every answer again.
/// An answerer that then gives a different answer changes the rest of the conversation.
#[async_trait]
pub trait ToolAnswerer: Send + Sync {
    /// Answers one call. The arguments fit the tool's schema.
    ///
    /// A mistake of the target is not an error but a [`ToolReply::error`], which the target receives.
    ///
    /// # Errors
    /// When there is no answer at all. This costs the conversation, which keeps its turns so far. An error of the kinds
    /// `Cancelled` and `OverBudget` leaves no conversation.
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed>;

    /// The conversation of `context` has ended, however it did: no further call of it follows.
    async fn end(&self, _context: &CallContext) {}

    /// What determines its answers, for the simulator's fingerprint.
    fn fingerprint(&self) -> Value;
}

/// A call to answer.
#[derive(Clone, Copy, Debug)]
pub struct ToolRequest<'a> {
    /// The called tool.
    pub tool: &'a ToolSpec,
    /// The arguments.
    pub arguments: &'a Extra,
    /// The world that the tool acts in. Empty if it is not described.
    pub world_state: &'a str,
    /// The earlier calls of this conversation with their answers, oldest first, including refused calls.
    pub earlier: &'a [AnsweredCall],
    /// The conversation, turn and step of the call. Its purpose is `ToolAnswer`.
    pub context: &'a CallContext,
}

/// An earlier call of the conversation, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The tool, as the target named it.
    pub name: String,
    /// The arguments, as the target wrote them.
    pub arguments: String,
    /// The answer.
    pub answer: Arc<str>,
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReply {
    /// The text that the target receives.
    pub text: Arc<str>,
    /// Whether the call was refused.
    pub is_error: bool,
    /// What the calls to models behind the answer used and cost. These models must be journaled, with the context of the request:
    /// otherwise the check of a journal misses their calls.
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

    /// The answer to a call that cannot be carried out: `{"error": reason}`. The reason should tell the target what it can do.
    #[must_use]
    pub fn error(reason: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::new(json!({"error": reason.into()}).to_string())
        }
    }
}

/// A call without an answer, and its cost.
#[derive(Debug)]
pub struct ToolFailed {
    /// The reason.
    pub error: PhaseError,
    /// What was used and cost nevertheless, as in [`ToolReply::spend`].
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

/// Gives the same answer to every call.
pub(super) struct FixedAnswer(pub(super) Value);

/// Chooses the answer by the arguments.
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

/// Text unchanged, anything else as JSON.
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
