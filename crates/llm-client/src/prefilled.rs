//! The layer that begins each reply.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Message, ModelError, ModelId,
    PhaseProgram, Purpose, Role,
};

use crate::settings::ModelSettings;

/// Puts words into the model's mouth: each request ends with an assistant message that holds the beginning of the reply, and the reply is that
/// beginning and what the model said after it. An endpoint that repeats the beginning does not double it, and a reply without a word stays
/// empty. Without a beginning, requests pass unchanged.
///
/// Models behind [`HttpClient`](crate::HttpClient) get such a message as any other. Not every endpoint goes on with it: some answer it, and
/// some refuse it.
#[derive(Debug)]
pub struct Prefilled<M> {
    inner: M,
    beginning: Option<Arc<str>>,
}

impl<M: ChatModel> Prefilled<M> {
    /// Begins the replies of `inner` as `settings` say.
    pub fn new(inner: M, settings: &ModelSettings) -> Self {
        Self {
            inner,
            beginning: settings.prefill.clone(),
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Prefilled<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let beginning = self.beginning.as_ref();
        let Some(beginning) = beginning.filter(|_| request.context.purpose != Purpose::Probe)
        else {
            return self.inner.chat(request).await;
        };
        let mut begun = request.clone();
        begun
            .messages
            .push(Message::new(Role::Assistant, &**beginning));
        let mut reply = self.inner.chat(&begun).await?;
        let is_silent = reply.content.trim().is_empty() && reply.tool_calls.is_empty();
        if !is_silent && !reply.content.starts_with(&**beginning) {
            reply.content.insert_str(0, beginning);
        }
        Ok(reply)
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
