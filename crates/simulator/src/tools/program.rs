//! Tools whose answers a program gives. The form is that of `docs/any-language.md`.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ModelErrorKind, NoVerdict, PhaseError, PhaseErrorKind,
    reply::{self, Asked, PROGRAM_TRIES, ask_program},
    text::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{AnsweredCall, ToolAnswerer, ToolFailed, ToolReply, ToolRequest};

/// Answers calls with a program: see [`schema::PhaseProgram`].
pub struct ProgramTools(Arc<dyn ChatModel>);

impl ProgramTools {
    /// The tools that `program` answers.
    #[must_use]
    pub fn new(program: Arc<dyn ChatModel>) -> Self {
        Self(program)
    }
}

/// The parameters of `answer`.
fn params(request: &ToolRequest<'_>) -> Value {
    let context = request.context;
    // Ids name the model. Samples are conversations of their own.
    let conversation = Sha256::digest(format!("{} {}", context.row, context.sample));
    let earlier = |call: &AnsweredCall| {
        json!({
            "tool": call.name,
            "arguments": json_or_text(&call.arguments),
            "answer": json_or_text(&call.answer),
        })
    };
    json!({
        "conversation": hex(&conversation).get(..16),
        "turn": context.turn,
        "call": request.earlier.len() + 1,
        "tool": request.tool.name,
        "arguments": request.arguments,
        "calls": request.earlier.iter().map(earlier).collect::<Vec<_>>(),
        "world_state": request.world_state,
    })
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Reads a result: `answer`, any JSON, or `error`, a text for the target.
fn read(content: &str) -> Result<ToolReply, String> {
    let result = reply::json_object(content)?;
    if let Some(Value::String(reason)) = result.get("error") {
        return Ok(ToolReply::error(reason.as_str()));
    }
    match result.get("answer") {
        None => Err("expected one of answer and error".to_owned()),
        Some(Value::String(text)) => Ok(ToolReply::new(text.as_str())),
        Some(other) => Ok(ToolReply::new(other.to_string())),
    }
}

#[async_trait]
impl ToolAnswerer for ProgramTools {
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        let at = || format!("tool program {}, tool {}", self.0.id(), request.tool.name);
        let context = &request.context;
        let read = |reply: &ChatReply| read(&reply.content);
        let asked = ask_program(&*self.0, params(request), context, PROGRAM_TRIES, read);
        let Asked { answer, spend } = asked.await.map_err(|failed| {
            let is_useless = failed.error.kind() == ModelErrorKind::Malformed;
            let error = PhaseError::from_model(at(), failed.error);
            ToolFailed {
                error: match is_useless {
                    true => error.with_no_verdict(NoVerdict::SimulatorFault),
                    false => error,
                },
                spend: failed.spend,
            }
        })?;
        match answer {
            Ok(answer) => Ok(ToolReply { spend, ..answer }),
            Err(unusable) => {
                let (asked, reason) = (unusable.asked, unusable.reason);
                let text = format!(
                    "{}: no usable answer in {asked} tries; the last one: {reason}",
                    at()
                );
                let error = PhaseError::new(PhaseErrorKind::Failed, text);
                Err(ToolFailed {
                    error: error.with_no_verdict(NoVerdict::SimulatorFault),
                    spend,
                })
            }
        }
    }

    async fn end(&self, context: &CallContext) {
        self.0.end_conversation(context).await;
    }

    fn fingerprint(&self) -> Value {
        let program = self.0.phase_program();
        let fingerprint = program.map(|program| Value::clone(&program.fingerprint));
        json!({"program": {"id": self.0.id(), "fingerprint": fingerprint}})
    }
}
