//! Requests one JSON object from a model, and retries.

use std::sync::Arc;

use prompt::PromptError;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Extra, FinishReason, Message, PhaseError,
    PhaseErrorKind, ResponseFormat, Role,
    reply::{self, NextQuestion, Refused, Tries, cut_off_list, json_object},
};
use serde_json::Value;

/// A response format with this schema, in strict mode.
pub(crate) fn format(name: &'static str, schema: Value) -> ResponseFormat {
    ResponseFormat::JsonSchema {
        name: name.into(),
        schema: Arc::new(schema),
    }
}

/// A request with one user message.
pub(crate) fn request(text: String, format: ResponseFormat, context: CallContext) -> ChatRequest {
    ChatRequest {
        response_format: format,
        ..ChatRequest::new(vec![Message::new(Role::User, text)], context)
    }
}

/// If a run finds only unusable replies of an earlier run in the cache, it makes one more call than that run: this is how a
/// later run fills the gap. For this many runs, each adds one call.
pub(crate) const LATER_RUNS: u32 = 20;

/// Calls the model until `read` accepts the object, at most `tries` times. `what` names the requested object, for the error.
///
/// A reply that the token limit cut off is not requested again: the same limit would cut it off again.
pub(crate) async fn ask<T>(
    model: &dyn ChatModel,
    request: ChatRequest,
    tries: u32,
    what: &str,
    mut read: impl FnMut(&Extra) -> Result<T, String> + Send,
) -> Result<T, PhaseError> {
    ask_for(model, request, tries, what, |reply| {
        json_object(&reply.content)
            .and_then(|object| read(&object))
            .map_err(|reason| match was_cut_off(reply) {
                true => Refused {
                    reason: cut_off(&reason),
                    next: NextQuestion::Nothing,
                },
                false => reason.into(),
            })
    })
    .await
}

/// Calls the model until `read` accepts the reply.
pub(crate) async fn ask_for<T>(
    model: &dyn ChatModel,
    request: ChatRequest,
    tries: u32,
    what: &str,
    mut read: impl FnMut(&ChatReply) -> Result<T, Refused> + Send,
) -> Result<T, PhaseError> {
    let tries = Tries {
        at_most: tries,
        more_when_cached: LATER_RUNS,
    };
    let asked = reply::ask(model, request, tries, |reply| {
        read(reply).inspect_err(|refused| {
            let reason = &refused.reason;
            tracing::debug!(what, reason, "unusable reply");
        })
    })
    .await
    .map_err(|failed| PhaseError::from_model(what, failed.error))?;
    asked.answer.map_err(|unusable| {
        let message = format!("{what}: model {}: {unusable}", model.id());
        PhaseError::new(PhaseErrorKind::Failed, message).with_source(unusable)
    })
}

/// Whether the token limit cut off the reply.
pub(crate) fn was_cut_off(reply: &ChatReply) -> bool {
    reply.finish == FinishReason::Length
}

/// A reason caused by the token limit.
pub(crate) fn cut_off(reason: &str) -> String {
    format!("{reason} (the token limit cut the reply off)")
}

/// The object of a reply with the single key `key`, a list. If the reply was cut off, the object has the complete elements.
pub(crate) fn object_with_list(reply: &ChatReply, key: &str) -> Result<Extra, String> {
    json_object(&reply.content).or_else(|reason| {
        let whole = match was_cut_off(reply) {
            true => cut_off_list(&reply.content, key),
            false => Vec::new(),
        };
        match whole.is_empty() {
            true => Err(reason),
            false => Ok(Extra::from_iter([(key.to_owned(), Value::Array(whole))])),
        }
    })
}

/// The error for a template that cannot be used.
pub(crate) fn bad_prompt(error: PromptError) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
}
