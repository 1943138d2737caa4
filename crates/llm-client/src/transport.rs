//! One HTTP exchange through async-openai, with status, headers and raw body kept for our own policy.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use async_openai::{Client, config::Config, error::OpenAIError, middleware::HttpRequestFactory};
use reqwest::{
    StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::SecretString;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::{
    SettingsError,
    failure::Unreached,
    http::{HttpClient, Route, full_text},
    settings::ModelSettings,
};

/// Longer replies are given up, in bytes.
const LONGEST_REPLY: usize = 64 << 20;
/// Room that is made before a byte has come, at most.
const FIRST_ROOM: usize = 1 << 20;

/// What came back.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Sends request bodies to one endpoint.
pub(crate) struct Transport {
    client: Client<Endpoint>,
}

impl Transport {
    /// A transport to the endpoint of `settings`.
    pub(crate) fn new(settings: &ModelSettings, http: &HttpClient) -> Result<Self, SettingsError> {
        let endpoint = Endpoint::new(settings)?;
        let service = Capture {
            http: http.clone(),
            route: Route::to(&endpoint.parsed),
            timeout: settings.request_timeout,
        };
        // async-openai builds its requests with this client; they are sent by the service's.
        let builder = http
            .client(Route::Local)
            .map_err(SettingsError::http)?
            .clone();
        Ok(Self {
            client: Client::build(builder, endpoint).with_http_service(service),
        })
    }

    /// Posts `body` and waits for all of the reply.
    pub(crate) async fn post(&self, body: &RawValue) -> Result<HttpReply, Unreached> {
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

/// The address and headers of an endpoint. Nothing in it comes from the environment.
struct Endpoint {
    url: String,
    parsed: Url,
    headers: HeaderMap,
    /// The trait wants one. The real key is among the headers.
    no_key: SecretString,
}

impl Endpoint {
    fn new(settings: &ModelSettings) -> Result<Self, SettingsError> {
        let mut parsed = Url::parse(settings.base_url.trim())
            .map_err(|error| SettingsError::url(settings, &error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(SettingsError::url(
                settings,
                "it must start with http:// or https://",
            ));
        }
        let path = parsed.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = format!("{path}/chat/completions");
        parsed.set_path(&path);
        parsed.set_fragment(None);
        Ok(Self {
            url: parsed.as_str().to_owned(),
            parsed,
            headers: headers(settings)?,
            no_key: SecretString::default(),
        })
    }
}

fn headers(settings: &ModelSettings) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = settings.api_key.as_ref().filter(|key| !key.is_blank()) {
        let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose().trim()))
            .map_err(|_| SettingsError::key(settings))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &settings.extra_headers {
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| SettingsError::header(settings, name, "the name of a header"))?;
        if [CONTENT_TYPE, CONTENT_LENGTH].contains(&header) {
            return Err(SettingsError::header(settings, name, "for you to set"));
        }
        let mut value = HeaderValue::try_from(value.expose())
            .map_err(|_| SettingsError::header(settings, name, "given a value that fits in one"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, _path: &str) -> String {
        // Only chat completions are asked for, and their address is known already.
        self.url.clone()
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.url
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// The service underneath async-openai. It never gives a response to async-openai, which would sort, retry and parse it by
/// its own rules; it hands what came over as an error instead, which async-openai passes on untouched.
#[derive(Clone)]
struct Capture {
    http: HttpClient,
    route: Route,
    timeout: Duration,
}

struct Captured(Result<HttpReply, Unreached>);

impl tower::Service<HttpRequestFactory> for Capture {
    type Response = reqwest::Response;
    type Error = Captured;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Captured>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Captured>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Err(Captured(service.exchange(factory).await)) })
    }
}

impl Capture {
    async fn exchange(self, factory: HttpRequestFactory) -> Result<HttpReply, Unreached> {
        let mut request = factory
            .build()
            .await
            .map_err(|error| Unreached::Unsent(full_text(&error)))?;
        *request.timeout_mut() = Some(self.timeout);
        let client = self
            .http
            .client(self.route)
            .map_err(|error| Unreached::Unsent(error.to_owned()))?;
        let mut response = client.execute(request).await.map_err(unreached)?;
        let length = response.content_length().unwrap_or(0);
        let room = usize::try_from(length).unwrap_or(usize::MAX);
        if room > LONGEST_REPLY {
            return Err(Unreached::TooLarge(LONGEST_REPLY));
        }
        let mut body = Vec::with_capacity(room.min(FIRST_ROOM));
        while let Some(chunk) = response.chunk().await.map_err(unreached)? {
            if body.len() + chunk.len() > LONGEST_REPLY {
                return Err(Unreached::TooLarge(LONGEST_REPLY));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(HttpReply {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }
}

/// Sorts an error of the connection. The URL, which may hold a key, is taken out.
fn unreached(error: reqwest::Error) -> Unreached {
    let error = error.without_url();
    if error.is_timeout() && !error.is_connect() {
        return Unreached::Timeout;
    }
    let text = full_text(&error);
    if error.is_builder() {
        Unreached::Unsent(text)
    } else if error.is_connect() && text.contains("certificate") {
        Unreached::Certificate(text)
    } else if error.is_connect() {
        Unreached::Connect(text)
    } else {
        Unreached::Broken(text)
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
