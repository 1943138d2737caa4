//! The layer that puts requests into batches.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, Exchange as Wired, Journal,
    JsonText, ModelError, ModelErrorKind, ModelId, Origin, PhaseProgram, Role,
};

use super::{
    BatchSettings,
    exchange::Exchange,
    queue::{Outcome, Queue, Shared, State},
};
use crate::{
    Api, CircuitBreaker, HttpClient, KeyMaker, ModelSettings, OpenAi, ReplyBody, SettingsError,
    Stop, Wire,
    failure::role,
    limited::cancelled,
    model_factory::is_local,
    wire::{Blocks, parse},
};

/// Puts requests of some purposes into batches, and waits for the results; a request for which a batch has none is made directly, like all
/// others. Calls of a conversation that goes on (turns, a judge that has to correct its answer) are made directly too, so that nothing waits
/// twice, and so are the calls of programs.
///
/// Each reply costs [`BatchSettings::PRICE`] of the model's price. While a request waits it takes no permit, and nothing but the budget is
/// held for it.
pub struct Batched<M> {
    inner: M,
    settings: Arc<ModelSettings>,
    encoder: Encoder,
    keys: KeyMaker,
    batches: BatchSettings,
    queue: Queue,
    stop: Stop,
}

/// What makes the bodies of a model's requests.
#[derive(Clone)]
pub(crate) enum Encoder {
    OpenAi(Arc<OpenAi>),
    Wire(Arc<dyn Wire>),
}

impl Encoder {
    fn encode(&self, request: &ChatRequest) -> Option<JsonText> {
        match self {
            Self::OpenAi(model) => model.encoded(request),
            Self::Wire(wire) => wire.batch_body(request),
        }
    }

    /// The interface of the endpoint; `None` if it takes no batches.
    pub(crate) fn api(&self) -> Option<Api> {
        match self {
            Self::OpenAi(_) => Some(Api::ChatCompletions),
            Self::Wire(wire) => wire.batch_api(),
        }
    }
}

impl<M: ChatModel> Batched<M> {
    /// Puts batches before `inner`, the model of `settings`, whose requests `encoder` makes for `api`.
    ///
    /// # Errors
    /// When no call could be made with these settings.
    pub(crate) fn new(
        inner: M,
        (api, encoder): (Api, Encoder),
        (settings, batches): (Arc<ModelSettings>, &BatchSettings),
        http: &HttpClient,
        (journal, stop, breaker): (Arc<dyn Journal>, Stop, Arc<CircuitBreaker>),
    ) -> Result<Self, SettingsError> {
        let keys = KeyMaker::new(&settings);
        let mut batches = batches.clone();
        if is_local(&settings) {
            // Nobody else uses it, and nothing is far away.
            batches.linger = batches.linger.min(Duration::from_millis(500));
            batches.poll = batches.poll.min(Duration::from_millis(100));
        }
        let queue = Queue::new(Shared {
            api,
            exchange: Exchange::new(api, &settings, http)?,
            settings: batches.clone(),
            model: settings.id.shared(),
            endpoint: settings.endpoint().into(),
            model_sha256: keys.identity(),
            journal,
            stop: stop.clone(),
            breaker,
            state: Mutex::<State>::default(),
        });
        Ok(Self {
            inner,
            settings,
            encoder,
            keys,
            batches,
            queue,
            stop,
        })
    }

    /// Whether a request can wait for a batch.
    fn waits(&self, request: &ChatRequest) -> bool {
        let is_prefilled = usize::from(self.settings.prefill.is_some());
        let messages = request.messages.iter();
        let said = messages.filter(|message| message.role == Role::Assistant);
        self.batches.purposes.contains(&request.context.purpose)
            && !request.repeated.in_conversation
            && request.context.caller.is_none()
            && said.count() <= is_prefilled
    }

    /// What becomes of a request in a batch; in another one, if an earlier run's is not there any more.
    async fn outcome(&self, id: &str, body: &JsonText) -> Outcome {
        let outcome = self.queue.place(id, body.clone()).outcome(id).await;
        match outcome {
            Outcome::Gone => self.queue.place(id, body.clone()).outcome(id).await,
            outcome => outcome,
        }
    }

    /// A result of a batch as a reply; `None` if it cannot be read.
    fn reply(
        &self,
        request: &ChatRequest,
        sent: JsonText,
        text: JsonText,
        run_time: Duration,
    ) -> Option<ChatReply> {
        let (mut body, exchange) = match &self.encoder {
            Encoder::Wire(wire) => wire.read(request, text)?,
            Encoder::OpenAi(model) => self.completion(model, request, sent, text)?,
        };
        let price = self.settings.price;
        let priced = body
            .usage
            .and_then(|usage| Some(price?.cost(&usage) * BatchSettings::PRICE));
        body.cost = body.cost.or(priced);
        Some(ChatReply {
            run_time,
            ..body.into_reply(Origin::Fetched, Some(Arc::new(exchange)))
        })
    }

    fn completion(
        &self,
        model: &OpenAi,
        request: &ChatRequest,
        sent: JsonText,
        text: JsonText,
    ) -> Option<(ReplyBody, Wired)> {
        let blocks = Blocks::of(request.context.purpose, self.settings.reasoning_opening);
        let body = parse(text.get(), blocks).ok()?;
        let exchange = Wired {
            request: model.scrubbed(sent),
            response: text,
        };
        Some((body, exchange))
    }

    fn refused(&self, request: &ChatRequest, reason: &str) -> ModelError {
        let text = format!(
            "{} {}: its batch was refused: {reason}. Run again to send a new one, or without --batch",
            role(request.context.purpose),
            self.inner.id()
        );
        ModelError::new(ModelErrorKind::Permanent, text)
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Batched<M> {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let body = match self.waits(request) {
            true => self.encoder.encode(request),
            false => None,
        };
        let Some(body) = body else {
            return self.inner.chat(request).await;
        };
        if self.stop.is_stopped() {
            return Err(cancelled(request, self.id()));
        }
        let began = Instant::now();
        let id = format!("{:?}", self.keys.key(request));
        let outcome = tokio::select! {
            biased;
            outcome = self.outcome(&id, &body) => outcome,
            () = self.stop.stopped() => return Err(cancelled(request, self.id())),
        };
        let reply = match outcome {
            Outcome::Answered(text) => self.reply(request, body, text, began.elapsed()),
            Outcome::Missing | Outcome::Gone => None,
            Outcome::Refused(reason) => return Err(self.refused(request, &reason)),
        };
        match reply {
            Some(reply) => Ok(reply),
            None => self.inner.chat(request).await,
        }
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
