//! Asking a model for one JSON object, and what goes wrong then.

use std::sync::Arc;

use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Extra, FinishReason, Message, PhaseError,
    PhaseErrorKind, ResponseFormat, Role,
    prompt::PromptError,
    reply::{self, NextQuestion, Refused, Tries, cut_off_list, json_object},
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
/// later run fills the gap. It continues so for this many runs.
pub(crate) const LATER_RUNS: u32 = 20;

/// Asks until `read` accepts the object, `tries` times at most. `what` says what was asked for, for the error.
///
/// A reply that the token limit cut off is not asked for again: the same limit would cut it off again.
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

/// Asks until `read` accepts the reply.
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

/// Whether the token limit cut the reply off.
pub(crate) fn was_cut_off(reply: &ChatReply) -> bool {
    reply.finish == FinishReason::Length
}

/// A reason, where the token limit is behind it.
pub(crate) fn cut_off(reason: &str) -> String {
    format!("{reason} (the token limit cut the reply off)")
}

/// The object of a reply whose one key `key` is a list: of one that was cut off, with the elements that are whole.
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

/// A template that cannot be used.
pub(crate) fn bad_prompt(error: PromptError) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
}
