//! One call through async-openai, with status, headers and raw body kept for our own policy.
//!
//! async-openai makes the request, and the service underneath it sends what was made to the endpoint.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use async_openai::{Client, config::Config, error::OpenAIError, middleware::HttpRequestFactory};
use bytes::Bytes;
use http_body_util::BodyExt;
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde::{Serialize, de::IgnoredAny};

use crate::{
    SettingsError,
    endpoint::Endpoint,
    exchange::{Lost, exchange},
    failure::Unreached,
    http::{HttpClient, full_text},
    settings::ModelSettings,
};

pub(crate) use crate::exchange::HttpReply;

/// How often a request that the server has not begun with is sent, at most.
const MOST_SENDS: usize = 3;

/// Sends request bodies to one endpoint.
pub(crate) struct Transport {
    client: Client<Nowhere>,
}

impl Transport {
    /// A transport to the endpoint of `settings`.
    pub(crate) fn new(settings: &ModelSettings, http: &HttpClient) -> Result<Self, SettingsError> {
        let maker = http.maker().map_err(SettingsError::http)?;
        let service = Capture(Arc::new(Sender {
            endpoint: Endpoint::new(settings, http)?,
            timeout: settings.request_timeout,
        }));
        let client = Client::build(maker.clone(), Nowhere::default());
        Ok(Self {
            client: client.with_http_service(service),
        })
    }

    /// Posts `body` and waits for all of the reply.
    pub(crate) async fn post(&self, body: &impl Serialize) -> Result<HttpReply, Unreached> {
        let result: Result<IgnoredAny, OpenAIError> = self.client.chat().create_byot(body).await;
        match result {
            Err(OpenAIError::Boxed(error)) => match error.downcast::<Captured>() {
                Ok(captured) => captured.0,
                Err(other) => Err(Unreached::Unsent(other.to_string())),
            },
            Err(other) => Err(Unreached::Unsent(other.to_string())),
            Ok(IgnoredAny) => Err(Unreached::Unsent("the reply was lost".to_owned())),
        }
    }
}

/// What async-openai is told of the endpoint: nothing. It would parse the address and copy the headers anew for every request.
/// The service knows both ready for use, and puts them in the place of these.
#[derive(Default)]
struct Nowhere {
    /// The trait wants one. The real key is among the endpoint's headers.
    no_key: SecretString,
}

impl Nowhere {
    /// The shortest address there can be: it is parsed for every request.
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

/// The service underneath async-openai. It never gives a response to async-openai, which would sort, retry and parse it by
/// its own rules; it hands what came over as an error instead, which async-openai passes on untouched.
#[derive(Clone)]
struct Capture(Arc<Sender>);

struct Captured(Result<HttpReply, Unreached>);

impl tower::Service<HttpRequestFactory> for Capture {
    type Response = reqwest::Response;
    type Error = Captured;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Captured>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Captured>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let sender = Arc::clone(&self.0);
        Box::pin(async move { Err(Captured(sender.send(factory).await)) })
    }
}

/// Sends what async-openai made to the endpoint.
struct Sender {
    endpoint: Endpoint,
    timeout: Duration,
}

impl Sender {
    async fn send(&self, factory: HttpRequestFactory) -> Result<HttpReply, Unreached> {
        let exchange = self.exchange(factory);
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(result) => result,
            Err(_) => Err(Unreached::Timeout),
        }
    }

    async fn exchange(&self, factory: HttpRequestFactory) -> Result<HttpReply, Unreached> {
        let (further, body) = self.made(factory).await?;
        let mut sends = 1;
        loop {
            match exchange(&self.endpoint, further.as_deref(), body.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(Lost::NotBegun(_)) if sends < MOST_SENDS => sends += 1,
                Err(Lost::NotBegun(what) | Lost::Final(what)) => return Err(what),
            }
        }
    }

    /// What the endpoint needs of the request that `factory` makes: the headers that are not its own, and the body. The rest does not
    /// wait for the reply with them.
    async fn made(
        &self,
        factory: HttpRequestFactory,
    ) -> Result<(Option<Box<HeaderMap>>, Bytes), Unreached> {
        let mut made = factory
            .build()
            .await
            .map_err(|error| Unreached::Unsent(full_text(&error)))?;
        let further = self.endpoint.further(mem::take(made.headers_mut()));
        let Some(mut body) = made.body_mut().take() else {
            return Ok((further, Bytes::new()));
        };
        // It is there as a whole, and need not be copied.
        match body.frame().await {
            Some(Ok(frame)) => Ok((further, frame.into_data().unwrap_or_default())),
            Some(Err(error)) => Err(Unreached::Unsent(full_text(&error))),
            None => Ok((further, Bytes::new())),
        }
    }
}

impl From<Captured> for OpenAIError {
    fn from(captured: Captured) -> Self {
        Self::Boxed(Box::new(captured))
    }
}

impl std::error::Error for Captured {}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a captured reply")
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Captured")
    }
}
