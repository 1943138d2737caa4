//! Models behind an interface of their provider's own: Anthropic's Messages, OpenAI's Responses.
//!
//! A reply keeps what chat completions leave out: reasoning in blocks of its own, which goes back where a conversation with tools goes on,
//! and the tokens read from and written to the provider's prompt cache.
//!
//! # Limits
//! - Nothing is negotiated: what the endpoint refuses is an error with its words.
//! - Text and calls of functions are read; a reply with other content is malformed.

mod cache_control;
mod messages;
mod responses;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use reqwest::{
    Method, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use schema::{
    ChatReply, ChatRequest, Exchange, FinishReason, JsonText, Message, ModelError, Origin,
    ReasoningField, ReturnedReasoning, Spend,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    HttpClient, ReplyBody, SettingsError, Wire,
    endpoint::{KeyHeader, address_of, headers},
    failure::{CallFailure, Reporter},
    http::Route,
    one_call::{HttpReply, OneCall},
    openai::{failure, one_line},
    rate_headers::rates_left,
    reply_memory::Waited,
    settings::{ModelSettings, ReasoningSentBack, StructuredSupport},
    unreached::Unreached,
    wire::{Reason, Refusal, Unparsed},
};

/// The interface of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// Chat completions, OpenAI's older interface, which most endpoints speak.
    #[default]
    ChatCompletions,
    /// [Messages](https://docs.anthropic.com/en/api/messages), Anthropic's own.
    Messages,
    /// [Responses](https://platform.openai.com/docs/api-reference/responses), OpenAI's newer one.
    Responses,
}

impl Api {
    /// All of them, with their names in a configuration.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::ChatCompletions, "chat_completions"),
        (Self::Messages, "messages"),
        (Self::Responses, "responses"),
    ];

    /// The name in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// What is appended to the address of an endpoint.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Messages => "/messages",
            Self::Responses => "/responses",
        }
    }

    /// Adds the header that names the interface's version, where it has one and the settings do not set it.
    pub(crate) fn add_version(self, headers: &mut HeaderMap) {
        if self == Self::Messages {
            let version = HeaderValue::from_static(messages::VERSION);
            headers.entry("anthropic-version").or_insert(version);
        }
    }

    /// What a good reply is called in errors.
    fn reply(self) -> &'static str {
        match self {
            Self::ChatCompletions => "a chat completion",
            Self::Messages => "a message",
            Self::Responses => "a response",
        }
    }

    /// Fields that `extra_body` cannot set.
    fn own_fields(self) -> &'static [&'static str] {
        match self {
            Self::ChatCompletions | Self::Messages => &["messages", "stream"],
            Self::Responses => &["input", "stream"],
        }
    }
}

/// A model behind an interface of its own.
pub struct NativeModel {
    api: Api,
    settings: ModelSettings,
    canonical: String,
    http: HttpClient,
    url: Url,
    headers: HeaderMap,
    reporter: Reporter,
}

impl fmt::Debug for NativeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeModel")
            .field("api", &self.api)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl NativeModel {
    /// The model of `settings` behind `api`. Sends nothing.
    ///
    /// # Errors
    /// When no call could be made: the address is invalid, a header or the key cannot be sent, `extra_body` has the messages, or a sampling
    /// seed is set that the interface does not have.
    pub fn new(
        api: Api,
        settings: &ModelSettings,
        http: HttpClient,
    ) -> Result<Self, SettingsError> {
        for field in api.own_fields() {
            if settings.extra_body.contains_key(*field) {
                return Err(SettingsError::extra_body(settings, field));
            }
        }
        if settings.seed.is_some() {
            return Err(SettingsError::unknown_setting(settings, "seed", api.name()));
        }
        let key = match api {
            Api::Messages => KeyHeader::ApiKey,
            _ => KeyHeader::Bearer,
        };
        let mut headers = headers(settings, key)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        api.add_version(&mut headers);
        Ok(Self {
            api,
            canonical: canonical(api, settings),
            http,
            url: address_of(settings, api.path())?,
            headers,
            reporter: Reporter::new(settings).with_interface(api.path(), api.reply()),
            settings: settings.clone(),
        })
    }

    /// The body of `request`, `extra_body` last.
    fn body(&self, request: &ChatRequest) -> Value {
        let mut body = match self.api {
            Api::Responses => responses::body(&self.settings, request),
            _ => messages::body(&self.settings, request),
        };
        for (name, value) in &self.settings.extra_body {
            body.insert(name.clone(), value.clone());
        }
        body.into()
    }

    /// Reads a reply. Some gateways translate the end of a reply that was cut off into an ordinary one: one that has as many tokens as it may
    /// have was cut off.
    fn parse(&self, body: &str) -> Result<ReplyBody, Box<Unparsed>> {
        let mut reply = match self.api {
            Api::Responses => responses::parse(body)?,
            _ => messages::parse(body)?,
        };
        let used = reply.usage.map_or(0, |usage| usage.output_tokens);
        let limit = match self.api {
            Api::Messages => Some(messages::token_limit(&self.settings)),
            _ => self.settings.max_tokens,
        };
        let is_full = limit.is_some_and(|most| used >= u64::from(most));
        if is_full && reply.finish == FinishReason::Stop {
            reply.finish = FinishReason::Length;
        }
        Ok(reply)
    }

    /// Posts `body` and waits for the whole reply.
    async fn post(&self, body: &JsonText) -> Result<HttpReply, Unreached> {
        let mut built = reqwest::Request::new(Method::POST, self.url.clone());
        *built.headers_mut() = self.headers.clone();
        *built.body_mut() = Some(body.get().to_owned().into());
        // When connections are limited, calls wait for one before their timeout starts.
        let _place = self.http.place().await;
        let waited = Arc::new(Waited::default());
        let call = OneCall::new(self.http.clone(), Route::to(&self.url), Arc::clone(&waited));
        let timeout = self.settings.request_timeout;
        match tokio::time::timeout(timeout, call.fetch(built)).await {
            Ok(reply) => reply,
            Err(_) if waited.sum() * 2 > timeout => Err(Unreached::NoRoom(self.http.room().sum())),
            Err(_) => Err(Unreached::Timeout),
        }
    }

    /// Reads a reply of the endpoint.
    fn read_reply(
        &self,
        reply: HttpReply,
        sent: JsonText,
        run_time: Duration,
        request: &ChatRequest,
    ) -> Result<ChatReply, ModelError> {
        let purpose = request.context.purpose;
        let status = reply.status.as_u16();
        let mut failure = failure(status, &reply.headers);
        let rates_left = rates_left(&reply.headers, SystemTime::now());
        if !reply.status.is_success() {
            let refusal = Refusal::read(&reply.body);
            failure.retry_after = failure.retry_after.or(refusal.retry_after);
            let none = Spend::default();
            return Err(self
                .reporter
                .refused(purpose, status, &refusal, failure, none));
        }
        let malformed = |reason: &str, body: &[u8], failure: CallFailure, spend: Spend| {
            self.reporter
                .malformed(purpose, reason, body, failure, spend)
        };
        let text = match String::from_utf8(reply.body) {
            Ok(text) => self.reporter.scrubber().reply(one_line(text)),
            Err(error) => {
                let reason = "the reply is not valid UTF-8";
                return Err(malformed(
                    reason,
                    error.as_bytes(),
                    failure,
                    Spend::default(),
                ));
            }
        };
        let mut body = match self.parse(&text) {
            Ok(body) => body,
            Err(unparsed) => {
                let cost = |usage: &schema::Usage| Some(self.settings.price?.cost(usage));
                let spend = unparsed.usage.map_or_else(Spend::default, |usage| {
                    Spend::of_call(Some(usage), cost(&usage))
                });
                return Err(match unparsed.reason {
                    Reason::Error(error) => {
                        let refusal = Refusal::of_json(&error);
                        self.reporter
                            .refused(purpose, status, &refusal, failure, spend)
                    }
                    Reason::Form(reason) => malformed(&reason, text.as_bytes(), failure, spend),
                });
            }
        };
        let response = JsonText::new(text).map_err(|error| {
            malformed(
                &error.to_string(),
                &[],
                CallFailure::default(),
                Spend::default(),
            )
        })?;
        body.cost = body
            .usage
            .and_then(|usage| Some(self.settings.price?.cost(&usage)));
        let exchange = Exchange {
            request: self.reporter.scrubber().request(sent),
            response,
        };
        Ok(ChatReply {
            run_time,
            rates_left,
            ..body.into_reply(Origin::Fetched, Some(Arc::new(exchange)))
        })
    }
}

/// The content of `body`, a reply of one of these interfaces; `None` if it is of another.
pub(crate) fn read_any(body: &str) -> Option<ReplyBody> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Head {
        r#type: Option<String>,
        object: Option<String>,
    }
    let head: Head = serde_json::from_str(body).ok()?;
    match (head.r#type.as_deref(), head.object.as_deref()) {
        (Some("message"), _) => messages::parse(body).ok(),
        (_, Some("response")) => responses::parse(body).ok(),
        _ => None,
    }
}

/// Everything that decides a reply beside the request.
fn canonical(api: Api, settings: &ModelSettings) -> String {
    let endpoint = settings.cache_name.clone();
    json!({
        "api": api,
        "endpoint": endpoint.unwrap_or_else(|| settings.address()),
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "reasoning_effort": settings.reasoning_effort,
        "structured": settings.structured,
        "extra_body": settings.extra_body,
    })
    .to_string()
}

/// The blocks of reasoning of an earlier reply, if `request` sends them back.
fn reasoning_blocks(
    settings: &ModelSettings,
    request: &ChatRequest,
    message: &Message,
) -> Vec<Value> {
    let is_sent_back = match settings.reasoning_sent_back {
        ReasoningSentBack::Never => false,
        ReasoningSentBack::WithTools => !request.tools.is_empty(),
        ReasoningSentBack::Always => true,
    };
    message
        .reasoning
        .as_ref()
        .filter(|reasoning| is_sent_back && reasoning.field == ReasoningField::Blocks)
        .and_then(|reasoning| serde_json::from_str(&reasoning.text).ok())
        .unwrap_or_default()
}

/// The blocks of reasoning of a reply, as they go back.
fn returned(blocks: Vec<Value>) -> Option<Arc<ReturnedReasoning>> {
    let text = (!blocks.is_empty()).then(|| Value::from(blocks).to_string())?;
    Some(Arc::new(ReturnedReasoning {
        field: ReasoningField::Blocks,
        text,
    }))
}

/// The JSON schema that a reply has to follow, with its name, if the settings request that.
fn reply_schema<'r>(
    settings: &ModelSettings,
    request: &'r ChatRequest,
) -> Option<(&'r str, &'r Value)> {
    match &request.response_format {
        schema::ResponseFormat::JsonSchema { name, schema }
            if settings.structured == StructuredSupport::JsonSchema =>
        {
            Some((name, schema))
        }
        _ => None,
    }
}

/// Adds `name` if there is a value.
fn add(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

fn unreadable(body: &str, error: &serde_json::Error) -> Box<Unparsed> {
    let reason = match body.trim_start().starts_with('<') {
        true => "the reply is a web page, not JSON".to_owned(),
        false if error.is_eof() => "the reply is cut off".to_owned(),
        false => format!("the reply is not valid JSON: {error}"),
    };
    Box::new(Unparsed {
        reason: Reason::Form(reason),
        usage: None,
        cost: None,
    })
}

#[async_trait]
impl Wire for NativeModel {
    fn canonical(&self) -> &str {
        &self.canonical
    }

    async fn call(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let sent = JsonText::of(&self.body(request));
        let started = Instant::now();
        let reply = self
            .post(&sent)
            .await
            .map_err(|what| self.reporter.unreached(request.context.purpose, &what))?;
        self.read_reply(reply, sent, started.elapsed(), request)
    }

    fn batch_api(&self) -> Option<Api> {
        Some(self.api)
    }

    fn batch_body(&self, request: &ChatRequest) -> Option<JsonText> {
        Some(JsonText::of(&self.body(request)))
    }

    fn read(&self, request: &ChatRequest, stored: JsonText) -> Option<(ReplyBody, Exchange)> {
        let body = self.parse(stored.get()).ok()?;
        let sent = JsonText::of(&self.body(request));
        let exchange = Exchange {
            request: self.reporter.scrubber().request(sent),
            response: stored,
        };
        Some((body, exchange))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway that reports an ordinary end.
    #[test]
    fn a_reply_with_all_its_tokens_was_cut_off() {
        let id = schema::ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "m", "https://h/v1");
        settings.max_tokens = Some(7);
        let model = NativeModel::new(Api::Messages, &settings, HttpClient::default()).unwrap();
        let finish = |tokens: u64| {
            let body = json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": tokens}});
            model.parse(&body.to_string()).unwrap().finish
        };
        assert_eq!(finish(6), FinishReason::Stop);
        assert_eq!(finish(7), FinishReason::Length);
        // The limit that is sent where none is set.
        settings.max_tokens = None;
        let model = NativeModel::new(Api::Messages, &settings, HttpClient::default()).unwrap();
        let body = r#"{"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 8192}}"#;
        assert_eq!(model.parse(body).unwrap().finish, FinishReason::Length);
    }

    /// The keys of stored replies depend on this text.
    #[test]
    fn what_decides_a_reply_is_this() {
        let id = schema::ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "claude-x", "https://user:pw@h/v1/");
        settings.api_key = Some("sk-key".into());
        settings.temperature = Some(0.5);
        let model = NativeModel::new(Api::Messages, &settings, HttpClient::default()).unwrap();
        assert_eq!(
            model.canonical(),
            r#"{"api":"messages","endpoint":"https://h/v1","model":"claude-x","max_tokens":null,"temperature":0.5,"top_p":null,"reasoning_effort":null,"structured":"auto","extra_body":{}}"#
        );
        let shown = format!("{model:?}");
        assert!(
            !shown.contains("sk-key") && !shown.contains("pw"),
            "{shown}"
        );
    }
}
