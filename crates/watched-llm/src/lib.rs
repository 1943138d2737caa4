//! For tests of phases: the real client before a server that answers as the test says, with all that passes written down.
//!
//! ```
//! use schema::{CallContext, ChatRequest, Message, Purpose, Role};
//! use watched_llm::{Answer, Recorder};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Recorder::start(|model, number| Answer::says(format!("{model} {number}"))).await;
//! let request = ChatRequest::new(
//!     vec![Message::new(Role::User, "Hello?")],
//!     CallContext::new(Purpose::Judge, "row"),
//! );
//! let reply = server.model("judge").chat(&request).await?;
//! assert_eq!(reply.content, "judge 0");
//! assert_eq!(server.asked("judge")[0]["messages"][0]["content"], "Hello?");
//! assert_eq!(server.contexts("judge")[0]["row"], "row");
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - It is for tests: what cannot be set up panics, and nothing is freed before the recorder is dropped.
//! - The first 10,000 requests are kept, and no more.
//! - A call is one attempt: there are no retries, no cache and no limits around the client.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a failure ends the test that uses it"
)]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use llm_client::{HttpClient, ModelSettings, OpenAi, Price};
use schema::{
    ChatModel, ChatReply, ChatRequest, Event, Journal, ModelError, ModelErrorKind, ModelId,
};
use serde_json::{Value, json};

pub use scripted_llm::Answer;
use scripted_llm::ScriptedServer;

/// A server on a free port that writes down its requests. It stops when it is dropped.
#[derive(Debug)]
pub struct Recorder {
    server: ScriptedServer,
    contexts: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// `script` is given the model asked for and how many calls that model had before.
    pub async fn start(script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let server = ScriptedServer::builder()
            .keep_requests(10_000)
            .answer(move |asked| script(asked.model, asked.number))
            .start()
            .await
            .unwrap();
        Self {
            server,
            contexts: Arc::default(),
        }
    }

    /// A model of this name on the server. A million tokens cost 1000 dollars to send and 20,000 to receive.
    #[must_use]
    pub fn model(&self, name: &str) -> Arc<dyn ChatModel> {
        self.model_until(name, usize::MAX, ModelErrorKind::Cancelled)
    }

    /// The same, but calls after the first `calls` are not made and fail as `kind`, as a layer around the model would do it.
    #[must_use]
    pub fn model_until(
        &self,
        name: &str,
        calls: usize,
        kind: ModelErrorKind,
    ) -> Arc<dyn ChatModel> {
        let id = ModelId::new(name).unwrap();
        let mut settings = ModelSettings::new(id, name, self.server.base_url());
        settings.price = Some(Price {
            input: 1_000.0,
            output: 20_000.0,
            cached_input: None,
            cache_write: None,
        });
        Arc::new(Watched {
            inner: OpenAi::new(settings, &HttpClient::default()).unwrap(),
            contexts: Arc::clone(&self.contexts),
            left: Mutex::new(calls),
            kind,
        })
    }

    /// The bodies of the requests to `model`, in order.
    #[must_use]
    pub fn asked(&self, model: &str) -> Vec<Value> {
        let requests = self.server.requests().into_iter();
        requests.filter(|body| body["model"] == model).collect()
    }

    /// What the calls of one purpose were said to be for, in order.
    #[must_use]
    pub fn contexts(&self, purpose: &str) -> Vec<Value> {
        let contexts = self.contexts.lock().unwrap();
        let of_purpose = contexts
            .iter()
            .filter(|context| context["purpose"] == purpose);
        of_purpose.cloned().collect()
    }
}

/// The client, with its calls' contexts written down. They never go on the wire.
struct Watched {
    inner: OpenAi,
    contexts: Arc<Mutex<Vec<Value>>>,
    left: Mutex<usize>,
    kind: ModelErrorKind,
}

impl Watched {
    fn may_call(&self) -> bool {
        let mut left = self.left.lock().unwrap();
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }
}

#[async_trait]
impl ChatModel for Watched {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if !self.may_call() {
            return Err(ModelError::new(self.kind, "not made"));
        }
        let context = &request.context;
        self.contexts.lock().unwrap().push(json!({
            "purpose": context.purpose, "row": &*context.row, "sample": context.sample,
            "turn": context.turn, "item": context.item.as_ref().map(|item| item.key()),
        }));
        self.inner.chat(request).await
    }
}

/// A journal that keeps its events.
#[derive(Debug, Default)]
pub struct KeptEvents(Mutex<Vec<Value>>);

impl Journal for KeptEvents {
    fn record(&self, event: Event) {
        let line = serde_json::to_value(event).unwrap();
        self.0.lock().unwrap().push(line);
    }
}

impl KeptEvents {
    /// The events in order.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}
