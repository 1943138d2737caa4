//! Asking a model for one JSON object, and what goes wrong then.

use std::sync::Arc;

use schema::{
    CallContext, ChatModel, ChatRequest, Extra, FinishReason, Message, PhaseError, PhaseErrorKind,
    ResponseFormat, Role,
    prompt::PromptError,
    reply::{self, Tries, json_object},
};
use serde_json::Value;

/// A reply of this schema, strictly.
pub(crate) fn format(name: &'static str, schema: Value) -> ResponseFormat {
    ResponseFormat::JsonSchema {
        name: name.into(),
        schema: Arc::new(schema),
    }
}

/// A request of one user message.
pub(crate) fn request(text: String, format: ResponseFormat, context: CallContext) -> ChatRequest {
    ChatRequest {
        response_format: format,
        ..ChatRequest::new(vec![Message::new(Role::User, text)], context)
    }
}

/// A run that finds only replies of an earlier one, none of them usable, asks one more time than that one did: this is how a
/// later run fills the gap. It goes on so for this many runs.
pub(crate) const LATER_RUNS: u32 = 20;

/// Asks until `read` accepts the object, `tries` times at most. `what` says what was asked for, for the error.
pub(crate) async fn ask<T>(
    model: &dyn ChatModel,
    request: ChatRequest,
    tries: u32,
    what: &str,
    mut read: impl FnMut(&Extra) -> Result<T, String> + Send,
) -> Result<T, PhaseError> {
    let tries = Tries {
        at_most: tries,
        more_when_cached: LATER_RUNS,
    };
    let asked = reply::ask(model, request, tries, |reply| {
        json_object(&reply.content)
            .and_then(|object| read(&object))
            .map_err(|reason| match reply.finish {
                FinishReason::Length => format!("{reason} (the token limit cut the reply off)"),
                _ => reason,
            })
            .inspect_err(|reason| tracing::debug!(what, reason, "unusable reply"))
    })
    .await
    .map_err(|failed| PhaseError::from_model(what, failed.error))?;
    asked.answer.map_err(|unusable| {
        let message = format!("{what}: model {}: {unusable}", model.id());
        PhaseError::new(PhaseErrorKind::Failed, message).with_source(unusable)
    })
}

/// A template that cannot be used.
pub(crate) fn bad_prompt(error: PromptError) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
}
