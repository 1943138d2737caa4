//! The answer of a model to one call, as a line of `replies.jsonl`.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use llm_client::ReplyBody;
use schema::{
    ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, Origin, Spend, text::hex,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

/// What was asked: a hash of the model's id, what the call is for, and the messages and tools of the request. Settings and addresses are
/// not in it, so that a cassette needs none.
pub(super) type CallKey = [u8; 32];

/// The key of a call.
pub(super) fn call_key(model: &ModelId, request: &ChatRequest) -> CallKey {
    let context = &request.context;
    let caller = context.caller.as_ref();
    let asked = json!({
        "model": model,
        "purpose": context.purpose.as_str(),
        "row": &*context.row,
        "sample": context.sample,
        "turn": context.turn,
        "step": context.step,
        "caller": caller.map(|caller| (&*caller.name, caller.n, caller.unusable)),
        "messages": request.messages,
        "tools": request.tools.as_ref(),
    });
    Sha256::digest(asked.to_string()).into()
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The key, in hexadecimal.
    pub key: String,
    /// For people: the model's id, what the call was for, and its row.
    pub model: String,
    pub purpose: String,
    pub row: Arc<str>,
    #[serde(flatten)]
    pub answered: Answered,
}

/// A reply, or a failure.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answered {
    Reply(Box<Reply>),
    Error(Failure),
}

/// A reply.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    /// When it came, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// How long the call took, in microseconds.
    run_time: u64,
    /// The attempts before it that failed but were billed.
    #[serde(default, skip_serializing_if = "is_nothing")]
    failed_attempts: Spend,
    #[serde(flatten)]
    body: ReplyBody,
}

fn is_nothing(spend: &Spend) -> bool {
    *spend == Spend::default()
}

/// A call that failed for good.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    /// As [`ModelErrorKind`] has it.
    pub kind: String,
    /// The text without the number of attempts.
    pub message: String,
    pub attempts: u32,
    /// Whether a provider's filter refused the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spend: Spend,
}

impl Answer {
    pub(super) fn new(
        key: &CallKey,
        model: &ModelId,
        request: &ChatRequest,
        answered: Answered,
    ) -> Self {
        Self {
            key: hex(key),
            model: model.to_string(),
            purpose: request.context.purpose.as_str().to_owned(),
            row: Arc::clone(&request.context.row),
            answered,
        }
    }

    /// What the model answered.
    ///
    /// # Errors
    /// The recorded failure.
    pub(super) fn into_result(self) -> Result<ChatReply, ModelError> {
        match self.answered {
            Answered::Reply(reply) => Ok(reply.into_reply()),
            Answered::Error(failure) => Err(failure.to_error()),
        }
    }
}

impl From<&ChatReply> for Reply {
    fn from(reply: &ChatReply) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let since = |at: SystemTime| at.duration_since(UNIX_EPOCH).ok().map(micros);
        Self {
            at: reply.at.and_then(since),
            run_time: micros(reply.run_time),
            failed_attempts: reply.failed_attempts,
            body: ReplyBody::from(reply),
        }
    }
}

impl Reply {
    fn into_reply(self) -> ChatReply {
        let body = self.body;
        let at = self.at.map(Duration::from_micros);
        ChatReply {
            reasoning: body.reasoning,
            returned_reasoning: body.returned_reasoning,
            tool_calls: body.tool_calls,
            steps: body.steps,
            finish: body.finish,
            usage: body.usage,
            cost: body.cost,
            failed_attempts: self.failed_attempts,
            called: body.called.unwrap_or_default(),
            model: body.model,
            origin: Origin::Cached,
            at: at.and_then(|at| UNIX_EPOCH.checked_add(at)),
            run_time: Duration::from_micros(self.run_time),
            ..ChatReply::text(body.content)
        }
    }
}

impl Failure {
    fn to_error(&self) -> ModelError {
        // A kind of another version is permanent.
        let kind = ModelErrorKind::of(&self.kind).unwrap_or(ModelErrorKind::Permanent);
        let error = ModelError::new(kind, self.message.as_str())
            .with_attempts(self.attempts)
            .with_spend(self.spend);
        match self.refused {
            true => error.refused_for_content(),
            false => error,
        }
    }
}
