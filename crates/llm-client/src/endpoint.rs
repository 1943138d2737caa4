//! Where requests go, and the headers that all of them carry.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Uri, http::uri::Scheme};
use reqwest::{
    Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
        HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
    },
};

use secrecy::ExposeSecret as _;

use crate::{
    SettingsError,
    connect::Via,
    host::{Form, Host},
    http::{HttpClient, user_agent},
    settings::ModelSettings,
};

/// The address and headers of an endpoint, ready for use. Nothing in it comes from the environment.
pub(crate) struct Endpoint {
    pub(crate) host: Arc<Host>,
    uri: Uri,
    /// What HTTP/1.1 calls a server's own resource: path and query.
    path: Uri,
    /// With a content length that every request replaces by its own: a place for it is there then.
    headers: HeaderMap,
    /// The same for HTTP/1.1, which wants the host among them.
    headers_http1: HeaderMap,
}

impl Endpoint {
    /// The endpoint of `settings`, reached by `http`. Every request has the headers `made`, whatever the settings say.
    pub(crate) fn new(
        settings: &ModelSettings,
        http: &HttpClient,
        made: &HeaderMap,
    ) -> Result<Self, SettingsError> {
        let wrong = |reason: &str| SettingsError::url(settings, reason);
        let mut url =
            Url::parse(settings.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("it must start with http:// or https://"));
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = format!("{path}/chat/completions");
        url.set_path(&path);
        url.set_fragment(None);
        // It knows what becomes of a user name and a password in a URL.
        let request = http
            .maker()
            .map_err(SettingsError::http)?
            .post(url)
            .build()
            .map_err(|error| wrong(&error.without_url().to_string()))?;
        let mut headers = request.headers().clone();
        add_own(&mut headers, settings)?;
        add_usual(&mut headers);
        for (name, value) in made {
            headers.insert(name, value.clone());
        }
        let (host, uri, path) =
            addresses(http, request.url()).map_err(|error| wrong(&error.to_string()))?;
        let mut headers_http1 = headers.clone();
        if let Some(host) = host_header(&uri) {
            headers_http1.entry(HOST).or_insert(host);
        }
        // A copy of a table that is full grows as soon as anyone so much as looks for a place in it.
        for headers in [&mut headers, &mut headers_http1] {
            headers.reserve(headers.len());
        }
        Ok(Self {
            host,
            uri,
            path,
            headers,
            headers_http1,
        })
    }

    /// A request in `form`.
    pub(crate) fn request(&self, form: Form<'_>, body: Bytes) -> Request<Full<Bytes>> {
        let (uri, headers) = match form {
            Form::Http1(Via::Direct) => (&self.path, &self.headers_http1),
            Form::Http1(Via::Proxy(_)) => (&self.uri, &self.headers_http1),
            Form::Http2 => (&self.uri, &self.headers),
        };
        let mut headers = headers.clone();
        if let Form::Http1(Via::Proxy(Some(key))) = form {
            headers
                .entry(PROXY_AUTHORIZATION)
                .or_insert_with(|| key.clone());
        }
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        request
    }
}

/// The host of `url`, and what requests to it say in place of it.
fn addresses(
    http: &HttpClient,
    url: &Url,
) -> Result<(Arc<Host>, Uri, Uri), hyper::http::uri::InvalidUri> {
    let uri = Uri::try_from(url.as_str())?;
    let path = match uri.path_and_query() {
        Some(path) => Uri::from(path.clone()),
        None => Uri::default(),
    };
    Ok((http.host(url)?, uri, path))
}

/// Adds the key and the further headers of `settings`.
fn add_own(headers: &mut HeaderMap, settings: &ModelSettings) -> Result<(), SettingsError> {
    if let Some(key) = settings.key() {
        let mut value = HeaderValue::try_from(format!("Bearer {}", key))
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
        let mut value = HeaderValue::try_from(value.expose_secret())
            .map_err(|_| SettingsError::header(settings, name, "given a value that fits in one"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(())
}

/// Adds what every request says, where it is not said yet.
fn add_usual(headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*/*");
    headers.entry(ACCEPT).or_insert(any);
    headers.entry(USER_AGENT).or_insert_with(user_agent);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
}

/// The host of `uri`, with its port where that is not the usual one.
fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let name = uri.host()?;
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) {
        443
    } else {
        80
    };
    match uri.port_u16() {
        None => HeaderValue::try_from(name),
        Some(port) if port == usual => HeaderValue::try_from(name),
        Some(port) => HeaderValue::try_from(format!("{name}:{port}")),
    }
    .ok()
}
