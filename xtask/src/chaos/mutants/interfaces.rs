//! Replies of endpoints, read over HTTP.

use std::error::Error;

use llm_client::{Api, HttpApp, HttpClient, HttpOptions, ModelSettings, NativeModel, OpenAi, Wire};
use parsers::samples;
use schema::{CallContext, ChatModel, ChatRequest, Message, ModelId, Purpose, Role};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::endpoint::Endpoint;

/// An interface of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    ChatCompletions,
    Messages,
    Responses,
    /// An application with a reply in JSON.
    App,
    /// An application with a stream of events.
    AppStream,
}

/// A stream of events.
const STREAM: &str = "event: text\ndata: {\"text\": \"Hel\"}\n\nevent: text\ndata: {\"text\": \"lo\"}\n\nevent: end\ndata: {\"usage\": {\"in\": 3}}\n\n";

impl Interface {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::ChatCompletions,
        Self::Messages,
        Self::Responses,
        Self::App,
        Self::AppStream,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat completion over HTTP",
            Self::Messages => "message over HTTP",
            Self::Responses => "response over HTTP",
            Self::App => "reply of an application over HTTP",
            Self::AppStream => "stream of an application over HTTP",
        }
    }

    /// A good reply.
    pub(super) fn sample(self) -> &'static str {
        match self {
            Self::ChatCompletions => samples::CHAT_COMPLETION,
            Self::Messages => samples::MESSAGE,
            Self::Responses => samples::RESPONSE,
            Self::App => samples::APP_REPLY,
            Self::AppStream => STREAM,
        }
    }
}

/// Models behind the interfaces of one endpoint.
pub(super) struct Interfaces {
    runtime: Runtime,
    endpoint: Endpoint,
    openai: OpenAi,
    messages: NativeModel,
    responses: NativeModel,
    app: HttpApp,
    stream: HttpApp,
    request: ChatRequest,
}

impl Interfaces {
    pub(super) fn start() -> Result<Self, Box<dyn Error>> {
        let http = HttpClient::new(HttpOptions::default());
        let endpoint = Endpoint::start()?;
        let settings = ModelSettings::new(ModelId::new("m")?, "m", endpoint.base_url());
        let app = |more: Value| {
            let mut of_app = json!({"url": settings.base_url, "body": {"q": "{{ message }}"}});
            of_app
                .as_object_mut()
                .into_iter()
                .zip(more.as_object())
                .for_each(|(app, more)| app.extend(more.clone()));
            let of_app = serde_json::from_value(of_app).map_err(|error| error.to_string())?;
            HttpApp::new(of_app, &settings, http.clone(), None, &|_| None)
        };
        let stream = json!({"events": ["text"], "text": "/text", "done": {"event": "end"}, "error": {"event": "error", "message": "/m"}});
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            app: app(
                json!({"reply": "/answer/text", "errors": [{"pointer": "/error", "kind": "retryable"}]}),
            )?,
            stream: app(json!({"stream": stream}))?,
            endpoint,
            openai: OpenAi::new(settings.clone(), &http)?,
            messages: NativeModel::new(Api::Messages, &settings, http.clone())?,
            responses: NativeModel::new(Api::Responses, &settings, http)?,
            request: ChatRequest::new(
                vec![Message::new(Role::User, "Hello")],
                CallContext::new(Purpose::TargetTurn, "row"),
            ),
        })
    }

    /// Calls a model whose endpoint replies with `body`. What the model makes of it does not matter: it returns.
    pub(super) fn reply(&self, interface: Interface, body: &[u8]) {
        self.endpoint.answer(body);
        let wire: &dyn Wire = match interface {
            Interface::ChatCompletions => {
                drop(self.runtime.block_on(self.openai.chat(&self.request)));
                return;
            }
            Interface::Messages => &self.messages,
            Interface::Responses => &self.responses,
            Interface::App => &self.app,
            Interface::AppStream => &self.stream,
        };
        drop(self.runtime.block_on(wire.call(&self.request)));
    }
}
