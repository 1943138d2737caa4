//! The outermost layer: it reports every call to the journal and the meter.

mod events;

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Journal, ModelError, ModelId,
    PhaseProgram, Purpose,
};

use crate::meter::Meter;

/// Records an event for every call, in the item of the call or else in the run's journal, and updates the [`Meter`].
///
/// The messages are listed in `docs/journal.md`: `fetched sut response` and `using cached sut response` for the system under
/// test, the same with `annotator` for judges, with `user` for simulated users, and with `generator` for generation;
/// `sut exception` and its variants for failed calls; `call not made` for calls that the budget or the end of the run
/// prevented.
pub struct Journaled<M> {
    inner: M,
    journal: Arc<dyn Journal>,
    meter: Meter,
    assumed_free: bool,
}

impl<M: ChatModel> Journaled<M> {
    /// Wraps `inner` with `journal` and `meter`.
    #[must_use]
    pub fn new(inner: M, journal: Arc<dyn Journal>, meter: Meter) -> Self {
        Self {
            inner,
            journal,
            meter,
            assumed_free: false,
        }
    }

    /// Counts the model's replies without cost as assumed to be free: see [`ModelSettings::assumed_free`](crate::ModelSettings::assumed_free).
    #[must_use]
    pub fn assuming_free(mut self, assumed_free: bool) -> Self {
        self.assumed_free = assumed_free;
        self
    }
}

impl<M: std::fmt::Debug> std::fmt::Debug for Journaled<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journaled")
            .field("inner", &self.inner)
            .field("meter", &self.meter)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Journaled<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let result = self.inner.chat(request).await;
        let (model, context) = (self.inner.id(), &request.context);
        match &result {
            Ok(reply) => {
                self.meter.reply(model, context, reply);
                if self.assumed_free && reply.cost == Some(0.0) {
                    self.meter.assume_free(model, context);
                }
                match (context.purpose, &context.item, &context.caller) {
                    // The program's own reply follows.
                    (_, _, Some(_)) => {}
                    (Purpose::TargetTurn, Some(item), None) => {
                        item.reply_came(reply.at.unwrap_or_else(SystemTime::now));
                    }
                    (Purpose::Judge, Some(item), None) => item.judge_replied(&reply.content),
                    _ => {}
                }
                context.record(events::reply(model, request, reply), &*self.journal);
            }
            Err(error) => {
                self.meter.failure(context, error);
                context.record(events::failure(model, request, error), &*self.journal);
            }
        }
        result
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
