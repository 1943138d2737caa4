//! The layer that lets the caller decide how calls of items are made.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Item, ModelError, ModelId,
    Origin, PhaseProgram, Purpose, Spend,
};

use crate::{
    Amount, Budget, CacheKey, StoredReply,
    budgeted::{actual, estimate, refusal},
    cache::ReplyForm,
    settings::ModelSettings,
};

/// Decides how calls are made that belong to an item and are not answered from the cache: here, or elsewhere. An extension point for
/// runs that are spread over processes: pass it to [`ModelFactory::with_route`](crate::ModelFactory::with_route).
#[async_trait]
pub trait CallRoute: fmt::Debug + Send + Sync {
    /// Makes `call`.
    ///
    /// # Errors
    /// When no reply arrives, as for [`ChatModel::chat`].
    async fn call(&self, call: RoutedCall<'_>) -> Result<ChatReply, ModelError>;

    /// Whether the conversations of items are held elsewhere, so that none is opened here.
    fn is_elsewhere(&self) -> bool;
}

/// A call of an item that is not answered from the cache.
pub struct RoutedCall<'c> {
    inner: &'c dyn ChatModel,
    replies: &'c ReplyForm,
    request: &'c ChatRequest,
    item: &'c Item,
    key: CacheKey,
}

impl fmt::Debug for RoutedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RoutedCall").field(&self.key).finish()
    }
}

impl RoutedCall<'_> {
    /// The item that the call belongs to.
    #[must_use]
    pub fn item(&self) -> &Item {
        self.item
    }

    /// The key of its reply.
    #[must_use]
    pub fn key(&self) -> CacheKey {
        self.key
    }

    /// Makes the call here, with all layers.
    ///
    /// # Errors
    /// As for [`ChatModel::chat`].
    pub async fn here(&self) -> Result<ChatReply, ModelError> {
        self.inner.chat(self.request).await
    }

    /// The reply that was made elsewhere and came as `stored`. `None` if it cannot be read.
    #[must_use]
    pub fn reply(&self, stored: StoredReply) -> Option<ChatReply> {
        self.replies.read(self.request, stored, Origin::Fetched)
    }

    /// `reply` in the form that another process reads.
    #[must_use]
    pub fn stored(&self, reply: &ChatReply) -> StoredReply {
        self.replies.stored(reply)
    }

    /// What the call may cost.
    #[must_use]
    pub fn estimate(&self) -> Amount {
        let settings = self.replies.settings();
        estimate(self.request, settings.max_tokens, settings.price)
    }

    /// What a budget counts for this call where it has used `spend`.
    #[must_use]
    pub fn counted(&self, spend: &Spend) -> Amount {
        actual(spend, self.estimate())
    }

    /// Reserves `amount` for the item of the call.
    ///
    /// # Errors
    /// The error of the call, when the budget does not allow it.
    pub async fn reserve(
        &self,
        budget: &Budget,
        amount: Amount,
    ) -> Result<crate::Reservation, ModelError> {
        let id = self.inner.id();
        let whose = || format!("model {id}, row {}", self.item.row());
        let reserved = budget.reserve(amount).await;
        reserved.map_err(|over| refusal(&whose(), &over))
    }
}

/// Sends the calls of items on a [`CallRoute`]. Calls without an item, and trial calls, are made here.
#[derive(Debug)]
pub(crate) struct Routed<M> {
    inner: M,
    replies: ReplyForm,
    route: Arc<dyn CallRoute>,
}

impl<M: ChatModel> Routed<M> {
    /// Puts `route` before `inner`, the model of `settings`.
    pub(crate) fn new(inner: M, route: Arc<dyn CallRoute>, settings: &ModelSettings) -> Self {
        Self {
            inner,
            replies: ReplyForm::new(settings),
            route,
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Routed<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        match &request.context.item {
            Some(item) if request.context.purpose != Purpose::Probe => {
                let call = RoutedCall {
                    inner: &self.inner,
                    replies: &self.replies,
                    request,
                    item,
                    key: self.replies.key(request),
                };
                self.route.call(call).await
            }
            _ => self.inner.chat(request).await,
        }
    }

    async fn conversation_room(&self) -> ConversationRoom {
        match self.route.is_elsewhere() {
            true => ConversationRoom::default(),
            false => self.inner.conversation_room().await,
        }
    }

    async fn end_conversation(&self, context: &CallContext) {
        if !self.route.is_elsewhere() {
            self.inner.end_conversation(context).await;
        }
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.inner.phase_program()
    }
}
