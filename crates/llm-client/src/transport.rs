//! One call, with status, headers and raw body kept for our own policy.
//!
//! What a chat request looks like, async-openai says once for every endpoint: it makes one, and the service underneath it hands
//! that back. From call to call only the body differs, which is ours (`byot`). Made by async-openai, every request would parse its address
//! and build its headers anew.

use std::{
    fmt,
    future::{Ready, ready},
    mem,
    task::{Context, Poll},
    time::Duration,
};

use async_openai::{Client, config::Config, error::OpenAIError, middleware::HttpRequestFactory};
use bytes::Bytes;
use futures::FutureExt;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::de::IgnoredAny;

use crate::{
    SettingsError,
    endpoint::Endpoint,
    exchange::{Lost, exchange},
    failure::Unreached,
    http::{HttpClient, full_text},
    room::Waited,
    settings::ModelSettings,
    wire::Body,
};

pub(crate) use crate::exchange::HttpReply;

/// How often a request that the server has not begun with is sent, at most.
const MOST_SENDS: usize = 3;

/// Sends request bodies to one endpoint.
pub(crate) struct Transport {
    endpoint: Endpoint,
    timeout: Duration,
}

impl Transport {
    /// A transport to the endpoint of `settings`.
    pub(crate) fn new(settings: &ModelSettings, http: &HttpClient) -> Result<Self, SettingsError> {
        let maker = http.maker().map_err(SettingsError::http)?;
        let headers = headers(maker).map_err(|error| SettingsError::http(&error))?;
        Ok(Self {
            endpoint: Endpoint::new(settings, http, &headers)?,
            timeout: settings.request_timeout,
        })
    }

    /// Posts `body` and waits for all of the reply.
    pub(crate) async fn post(&self, body: &Body<'_>) -> Result<HttpReply, Unreached> {
        let body = body
            .json()
            .map_err(|error| Unreached::Unsent(error.to_string()))?;
        // Where there are few connections, calls wait for one before their time begins.
        let _place = self.endpoint.host.place().await;
        let waited = Waited::default();
        match tokio::time::timeout(self.timeout, self.exchange(body.into(), &waited)).await {
            Ok(result) => result,
            // Most of the time was not the endpoint's.
            Err(_) if waited.sum() * 2 > self.timeout => {
                Err(Unreached::NoRoom(self.endpoint.host.room().sum()))
            }
            Err(_) => Err(Unreached::Timeout),
        }
    }

    async fn exchange(&self, body: Bytes, waited: &Waited) -> Result<HttpReply, Unreached> {
        let mut sends = 1;
        loop {
            match exchange(&self.endpoint, body.clone(), waited).await {
                Ok(reply) => return Ok(reply),
                Err(Lost::NotBegun(_)) if sends < MOST_SENDS => sends += 1,
                Err(Lost::NotBegun(what) | Lost::Final(what)) => return Err(what),
            }
        }
    }
}

/// The headers of a chat request as async-openai makes it.
fn headers(maker: &reqwest::Client) -> Result<HeaderMap, String> {
    let client = Client::build(maker.clone(), Nowhere::default()).with_http_service(HandBack);
    let chat = client.chat();
    // Nothing on the way waits for anything.
    match chat.create_byot::<_, IgnoredAny>(()).now_or_never() {
        Some(Err(OpenAIError::Boxed(error))) => match error.downcast::<Made>() {
            Ok(made) => made.0.map_err(|error| full_text(&error)),
            Err(other) => Err(other.to_string()),
        },
        Some(Err(other)) => Err(other.to_string()),
        Some(Ok(IgnoredAny)) | None => Err("async-openai made no request".to_owned()),
    }
}

/// What async-openai is told of the endpoint: nothing. Its address and headers are the business of [`Endpoint`].
#[derive(Default)]
struct Nowhere {
    /// The trait wants one. The real key is among the endpoint's headers.
    no_key: SecretString,
}

impl Nowhere {
    const URL: &str = "http://e/";
}

impl Config for Nowhere {
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    fn url(&self, _path: &str) -> String {
        Self::URL.to_owned()
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        Self::URL
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// The service underneath async-openai. It sends nothing: it hands back what was made, as an error, which async-openai passes on
/// untouched.
#[derive(Clone)]
struct HandBack;

struct Made(Result<HeaderMap, OpenAIError>);

impl tower::Service<HttpRequestFactory> for HandBack {
    type Response = reqwest::Response;
    type Error = Made;
    type Future = Ready<Result<Self::Response, Made>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Made>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let made = factory.build().now_or_never();
        let late = || OpenAIError::InvalidArgument("the request is not ready at once".to_owned());
        let made = made.unwrap_or_else(|| Err(late()));
        ready(Err(Made(
            made.map(|mut made| mem::take(made.headers_mut())),
        )))
    }
}

impl From<Made> for OpenAIError {
    fn from(made: Made) -> Self {
        Self::Boxed(Box::new(made))
    }
}

impl std::error::Error for Made {}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request")
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}
