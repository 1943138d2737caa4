//! What answers a model's calls, where it is not an OpenAI-compatible endpoint.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Exchange, JsonText,
    ModelError, ModelId, PhaseProgram,
};

use crate::{Api, HostModels, ReplyBody};

/// What answers a model's calls in the place of an OpenAI-compatible endpoint: an application, a program. An extension point: set it as
/// [`ModelSettings::wire`](crate::ModelSettings::wire), and all layers of policy are around it.
///
/// A wire makes one attempt for each call. It makes the errors that the layers act on: their kinds, and where an endpoint asks for a wait a
/// [`CallFailure`](crate::CallFailure) as their source.
#[async_trait]
pub trait Wire: Send + Sync + fmt::Debug {
    /// Everything that decides a reply beside the request, as one line of JSON: addresses, templates, versions. No keys and no headers.
    /// It is part of the cache's keys: equal texts mean that stored replies are used again.
    fn canonical(&self) -> &str;

    /// Sends the request, once.
    ///
    /// # Errors
    /// When there is no reply.
    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError>;

    /// Reads the response of an earlier [`Exchange`] as a fetched one is read; `None` if it cannot be read any more.
    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)>;

    /// The interface whose batches take the requests; `None`: no batch does.
    fn batch_api(&self) -> Option<Api> {
        None
    }

    /// The body of the request, to be sent in a batch.
    fn batch_body(&self, _request: &ChatRequest) -> Option<JsonText> {
        None
    }

    /// Whether the other side keeps a conversation and gets only what is new.
    fn keeps_conversations(&self) -> bool {
        false
    }

    /// What is known of it, if it is a program that takes the place of a phase's prompts.
    fn phase_program(&self) -> Option<PhaseProgram> {
        None
    }

    /// The models of the run that it calls, by name, each with the fewest and the most calls for one request; as far as that is known before
    /// it is started.
    fn models_called(&self) -> BTreeMap<String, (u32, u32)> {
        BTreeMap::new()
    }

    /// Starts what answers, where that has to be started once a run: the wire that is used from then on. `None`: this one. A program may call
    /// `models`.
    ///
    /// # Errors
    /// When it cannot be started, or calls a model that is not there. The text names it and says what to do.
    fn start(&self, _models: &HostModels) -> Result<Option<Arc<dyn Wire>>, String> {
        Ok(None)
    }

    /// See [`ChatModel::conversation_room`].
    async fn conversation_room(&self) -> ConversationRoom {
        ConversationRoom::default()
    }

    /// See [`ChatModel::end_conversation`].
    async fn end_conversation(&self, _context: &CallContext) {}
}

/// A model that a [`Wire`] answers for.
pub(crate) struct Wired {
    pub(crate) id: ModelId,
    pub(crate) wire: Arc<dyn Wire>,
}

#[async_trait]
impl ChatModel for Wired {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        self.wire.call(request).await
    }

    async fn conversation_room(&self) -> ConversationRoom {
        self.wire.conversation_room().await
    }

    async fn end_conversation(&self, context: &CallContext) {
        self.wire.end_conversation(context).await;
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.wire.phase_program()
    }
}
