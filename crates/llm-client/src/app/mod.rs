//! Applications behind HTTP, as they are: a request built from templates, a reply found by pointers.
//!
//! An application is stateless, and gets the history with each turn, or it keeps the conversation, and gets what is new. Then a turn goes only
//! to a conversation that has itself given the earlier replies: see [`ModelErrorKind::Unseen`].
//!
//! # Limits
//! - A redirect to another scheme, host or port is an error.
//! - A response is read whole, also a stream, and is at most as long as [`HttpOptions::max_reply`](crate::HttpOptions::max_reply).

mod cookies;
mod redirect;
mod response;
mod send;
mod settings;
mod stream;
mod template;

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use async_trait::async_trait;
use schema::{
    CallContext, ChatReply, ChatRequest, Exchange, JsonText, Message, ModelError, ModelErrorKind,
    Origin, Role,
};
use serde_json::{Value, json};

pub(crate) use self::cookies::Cookies;
use self::{
    response::{Picks, RESPONSE_NAMES, Response},
    send::{Call, Failed, Sender},
    template::{Names, Templates, Variable},
};
use crate::{
    HttpClient, Live, Lives, ModelSettings, ReplyBody, Wire, earlier, rate_headers::rates_left_by,
    row_seed,
};

pub use settings::{
    AppErrorKind, AppStep, ErrorRule, EventMatch, HttpAppSettings, StreamFormat, StreamSettings,
    SystemPrompt, UsagePointers,
};

/// The names in templates of requests.
const REQUEST_NAMES: [&str; 12] = [
    "message",
    "history",
    "messages",
    "system",
    "conversation",
    "session",
    "login",
    "turn",
    "seed",
    "tools",
    "tool_results",
    "metadata",
];

/// An application behind HTTP as a model.
pub struct HttpApp {
    settings: HttpAppSettings,
    canonical: String,
    templates: Arc<Templates>,
    picks: Picks,
    turn: Call,
    open: Option<Call>,
    close: Option<Call>,
    is_stateful: bool,
    /// The value of `metadata` in templates.
    metadata: Value,
    /// The system prompt of a run that sets none: an application without a place for one need not get it.
    default_system: Option<String>,
    price: Option<crate::Price>,
    sender: Sender,
    lives: Lives,
}

impl fmt::Debug for HttpApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpApp")
            .field("canonical", &self.canonical)
            .field("stateful", &self.is_stateful)
            .finish_non_exhaustive()
    }
}

impl HttpApp {
    /// The endpoint of the application, for limits: scheme, host and port of its address. `address` has its variables filled in.
    ///
    /// # Errors
    /// When it does not begin with `http://` or `https://` and a host, or a template may change these.
    pub fn endpoint(address: &str) -> Result<String, String> {
        let fixed = address.split("{{").next().unwrap_or_default();
        let rest = fixed.split_once("://").map(|(_, rest)| rest);
        if fixed.len() != address.len() && !rest.is_some_and(|rest| rest.contains('/')) {
            return Err("the scheme, the host and the port cannot be templates".to_owned());
        }
        let url = reqwest::Url::parse(fixed).map_err(|error| error.to_string())?;
        match matches!(url.scheme(), "http" | "https") && url.has_host() {
            true => Ok(url.origin().ascii_serialization()),
            false => Err("it must start with http:// or https://".to_owned()),
        }
    }

    /// The application of `app`, with the id, the version, the price and the timeout of `model`. `variable` gives the values of `${NAME}`.
    /// `default_system` is the system prompt that runs have without one of their own.
    ///
    /// # Errors
    /// What is wrong with the settings, with the key.
    pub fn new(
        app: HttpAppSettings,
        model: &ModelSettings,
        http: HttpClient,
        default_system: Option<String>,
        variable: &Variable<'_>,
    ) -> Result<Self, String> {
        let mut templates = Templates::new();
        let form = templates.form("metadata", &app.metadata.clone().into(), variable)?;
        // It is made before the first turn.
        if let Some((name, place)) = templates.unknown(&[]) {
            return Err(format!("{place}: unknown name `{name}`; it can have none"));
        }
        let metadata = templates.json(&form, &Names::new())?;
        let turn = Call::new(
            "",
            (
                &app.url,
                &app.method,
                &app.headers,
                app.body.as_ref(),
                &app.form,
            ),
            &mut templates,
            variable,
        )?;
        let mut step = |name: &'static str, step: &Option<AppStep>| {
            let Some(step) = step else { return Ok(None) };
            Call::of_step(name, step, &mut templates, variable).map(Some)
        };
        let (open, close, login) = (
            step("open", &app.open)?,
            step("close", &app.close)?,
            step("login", &app.login)?,
        );
        if let Some((name, place)) = templates.unknown(&REQUEST_NAMES) {
            return Err(format!(
                "{place}: unknown name `{name}`; the names are {}",
                REQUEST_NAMES.join(", ")
            ));
        }
        let is_stateful = app
            .stateful
            .unwrap_or(!templates.uses("history") && !templates.uses("messages"));
        let picks = Picks::new(&app, &mut templates, variable)?;
        let known = [&REQUEST_NAMES[..], &RESPONSE_NAMES].concat();
        if let Some((name, place)) = templates.unknown(&known) {
            return Err(format!(
                "{place}: unknown name `{name}`; the names are {}",
                RESPONSE_NAMES.join(", ")
            ));
        }
        if app.reply.is_none() && app.messages.is_none() && app.stream.is_none() {
            return Err(
                "reply: missing; say where the text of the reply is, such as /answer/text"
                    .to_owned(),
            );
        }
        let templates = Arc::new(templates);
        let sender = Sender::new(
            model,
            http,
            Arc::clone(&templates),
            login,
            app.login.as_ref(),
        )?;
        Ok(Self {
            canonical: canonical(&app),
            templates,
            picks,
            turn,
            open,
            close,
            is_stateful,
            metadata: metadata.unwrap_or_default(),
            default_system,
            price: model.price,
            sender,
            lives: Lives::default(),
            settings: app,
        })
    }

    /// The values of a request: `live` is the conversation that it belongs to.
    fn names(&self, request: &ChatRequest, live: &Live) -> Names {
        let messages = &request.messages;
        let said =
            |message: &Message| json!({"role": message.role.as_str(), "content": message.content});
        let is_system = |message: &&Message| message.role == Role::System;
        let system = messages
            .iter()
            .find(is_system)
            .map(|message| &message.content);
        let talk: Vec<&Message> = messages
            .iter()
            .filter(|message| !is_system(message))
            .collect();
        let new = talk.len()
            - earlier(messages)
                .iter()
                .filter(|message| !is_system(message))
                .count();
        let (before, new) = talk.split_at(talk.len() - new);
        let results: Vec<Value> = new
            .iter()
            .filter(|message| message.role == Role::Tool)
            .map(|message| json!({"id": message.tool_call_id, "content": message.content}))
            .collect();
        let user = new.iter().rfind(|message| message.role == Role::User);
        let mut names = Names::new();
        let mut put = |name: &str, value: Value| names.insert(name.to_owned(), value);
        put(
            "message",
            user.map(|message| message.content.to_string())
                .unwrap_or_default()
                .into(),
        );
        put(
            "history",
            before.iter().map(|message| said(message)).collect(),
        );
        put("messages", messages.iter().map(said).collect());
        put("system", json!(system));
        put("conversation", live.conversation.as_str().into());
        put("session", live.session.clone());
        put("turn", request.context.turn.into());
        put("seed", row_seed(&request.context).into());
        put("tools", json!(request.tools.as_ref()));
        put("tool_results", results.into());
        put("metadata", self.metadata.clone());
        names
    }

    /// Refuses a system prompt that the application would not get.
    fn check_system(&self, request: &ChatRequest) -> Result<(), ModelError> {
        let uses = ["system", "messages"]
            .iter()
            .any(|name| self.templates.uses(name));
        if uses || self.settings.system.is_some() {
            return Ok(());
        }
        let system = request
            .messages
            .iter()
            .find(|message| message.role == Role::System);
        match system {
            Some(system) if self.default_system.as_deref() != Some(&*system.content) => {
                Err(self.sender.error(
                    request,
                    ModelErrorKind::Permanent,
                    "the scenario has a system prompt, and no template sends it: name {{ system }} in `body` or `open`, or write `system: own` \
                     where the application has its own",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Begins the conversation at the application.
    async fn begin(&self, request: &ChatRequest) -> Result<Live, Failed> {
        let mut live = Live::new();
        if let Some(open) = &self.open {
            let names = self.names(request, &live);
            let response = self
                .sender
                .send(open, names, &live.cookies, request, &self.settings)
                .await?;
            let taken = open.taken(&response).map_err(|error| {
                Failed::unseen(self.sender.app_error(request, &error, response.status))
            })?;
            live.session = taken;
        }
        Ok(live)
    }

    /// Ends it, as far as that succeeds.
    async fn end(&self, live: &Live, context: &CallContext) {
        let Some(close) = &self.close else { return };
        let request = ChatRequest::new(Vec::new(), context.clone());
        let names = self.names(&request, live);
        if let Err(failed) = self
            .sender
            .send(close, names, &live.cookies, &request, &self.settings)
            .await
        {
            tracing::debug!(row = %context.row, error = %failed.error, "the conversation could not be closed");
        }
    }

    /// One turn in `live`.
    async fn turn(&self, request: &ChatRequest, live: &Live) -> Result<ChatReply, Failed> {
        let names = self.names(request, live);
        let started = Instant::now();
        let response = self
            .sender
            .send(
                &self.turn,
                names.clone(),
                &live.cookies,
                request,
                &self.settings,
            )
            .await?;
        let run_time = started.elapsed();
        let header = |name: &str| response.headers.get(name)?.as_str();
        let rates_left = rates_left_by(header, SystemTime::now());
        let body = self
            .picks
            .read(&response, &self.templates)
            .map_err(|error| {
                Failed::seen(self.sender.app_error(request, &error, response.status))
            })?;
        let exchange = Exchange {
            request: self.sender.shown(&self.turn, &names),
            response: self.sender.scrubbed(&response.to_json()),
        };
        let priced = || Some(self.price?.cost(body.usage.as_ref()?));
        Ok(ChatReply {
            cost: body.cost.or_else(priced),
            run_time,
            rates_left,
            ..body.into_reply(Origin::Fetched, Some(Arc::new(exchange)))
        })
    }

    /// A turn of an application that keeps the conversation.
    async fn stateful(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let context = &request.context;
        let before = earlier(&request.messages);
        let is_first = before.is_empty();
        let mut live = match self.lives.take_seen(context, before) {
            Ok(live) => live,
            Err(other) => {
                if let Some(other) = other {
                    self.end(&other, context).await;
                }
                if !is_first {
                    return Err(self
                        .sender
                        .error(
                            request,
                            ModelErrorKind::Unseen,
                            "its conversation is gone: an earlier run had these turns",
                        )
                        .with_attempts(0));
                }
                self.begin(request).await.map_err(|failed| failed.error)?
            }
        };
        match self.turn(request, &live).await {
            Ok(reply) => {
                let steps = reply.steps.iter().filter(|step| is_sent(request, step));
                live.saw(request.messages.iter().chain(steps), &reply.content);
                self.lives.put(context, live);
                Ok(reply)
            }
            Err(failed) if !failed.is_seen && !is_first => {
                self.lives.put(context, live);
                Err(failed.error)
            }
            Err(failed) => {
                self.end(&live, context).await;
                // The first turn can be repeated in a new conversation; a later one cannot.
                Err(match is_first {
                    true => failed.error,
                    false => lost(failed.error),
                })
            }
        }
    }
}

/// The request without calls of tools that are the application's own, and their answers: it gets what was said.
fn without_own_calls(request: &ChatRequest) -> Cow<'_, ChatRequest> {
    if request
        .messages
        .iter()
        .all(|message| is_sent(request, message))
    {
        return Cow::Borrowed(request);
    }
    let sent = |message: &&Message| is_sent(request, message);
    Cow::Owned(ChatRequest {
        messages: request.messages.iter().filter(sent).cloned().collect(),
        ..request.clone()
    })
}

/// Whether the application is sent `message`. Where the scenario has no tools, all calls are its own.
fn is_sent(request: &ChatRequest, message: &Message) -> bool {
    let is_own = message.role == Role::Tool || !message.tool_calls.is_empty();
    !request.tools.is_empty() || !is_own
}

/// The error of a turn whose conversation is lost with it.
fn lost(error: ModelError) -> ModelError {
    match error.kind() {
        ModelErrorKind::Transient | ModelErrorKind::RateLimited | ModelErrorKind::Malformed => {
            ModelError::new(ModelErrorKind::Unseen, error.to_string()).with_spend(*error.spend())
        }
        _ => error,
    }
}

/// The settings that decide a reply: those without headers and the login.
fn canonical(app: &HttpAppSettings) -> String {
    let mut app = app.clone();
    app.login = None;
    app.headers.clear();
    for step in [&mut app.open, &mut app.close].into_iter().flatten() {
        step.headers.clear();
    }
    json!({ "http": app }).to_string()
}

#[async_trait]
impl Wire for HttpApp {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        self.check_system(request)?;
        let request = &*without_own_calls(request);
        if self.is_stateful {
            return self.stateful(request).await;
        }
        let live = self.begin(request).await.map_err(|failed| failed.error)?;
        let reply = self.turn(request, &live).await;
        if self.open.is_some() {
            self.end(&live, &request.context).await;
        }
        reply.map_err(|failed| failed.error)
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        let value = serde_json::from_str(stored.get()).ok()?;
        let response = Response::stored(&value)?;
        let body = self.picks.read(&response, &self.templates).ok()?;
        let names = self.names(&without_own_calls(request), &Live::new());
        let shown = json!({"url": self.settings.url, "message": names.get("message")});
        let exchange = Exchange {
            request: self.sender.scrubbed(&shown),
            response: stored,
        };
        Some((body, exchange))
    }

    fn keeps_conversations(&self) -> bool {
        self.is_stateful
    }

    async fn end_conversation(&self, context: &CallContext) {
        if let Some(live) = self.lives.take(context) {
            self.end(&live, context).await;
        }
    }
}
