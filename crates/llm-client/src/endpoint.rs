//! Where requests go, and the headers that all of them carry.

use hyper::{Uri, http::uri::Scheme};
use reqwest::{
    Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
        HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
    },
};

use crate::{
    SettingsError,
    http::{Route, user_agent},
    settings::ModelSettings,
};

/// The address and headers of an endpoint, ready for use. Nothing in it comes from the environment.
pub(crate) struct Endpoint {
    pub(crate) uri: Uri,
    pub(crate) route: Route,
    headers: HeaderMap,
}

impl Endpoint {
    /// The endpoint of `settings`. `maker` knows what becomes of a user name and a password in a URL.
    pub(crate) fn new(
        settings: &ModelSettings,
        maker: &reqwest::Client,
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
        let route = Route::to(&url);
        let request = maker
            .post(url)
            .build()
            .map_err(|error| wrong(&error.without_url().to_string()))?;
        let uri =
            Uri::try_from(request.url().as_str()).map_err(|error| wrong(&error.to_string()))?;
        let mut headers = request.headers().clone();
        add_own(&mut headers, settings)?;
        add_usual(&mut headers, &uri);
        Ok(Self {
            uri,
            route,
            headers,
        })
    }

    /// The headers of a request that was made with the headers `made`.
    pub(crate) fn headers(&self, made: &HeaderMap, proxy_key: Option<HeaderValue>) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, value) in made {
            headers.insert(name, value.clone());
        }
        if let Some(key) = proxy_key {
            headers.entry(PROXY_AUTHORIZATION).or_insert(key);
        }
        headers
    }
}

/// Adds the key and the further headers of `settings`.
fn add_own(headers: &mut HeaderMap, settings: &ModelSettings) -> Result<(), SettingsError> {
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
    Ok(())
}

/// Adds what every client says, where it is not said yet.
fn add_usual(headers: &mut HeaderMap, uri: &Uri) {
    let any = HeaderValue::from_static("*/*");
    headers.entry(ACCEPT).or_insert(any);
    headers.entry(USER_AGENT).or_insert_with(user_agent);
    // In the clear it is HTTP/1.1, which wants the host; every request would make this header anew. By TLS it depends on what
    // the server speaks, and the client sees to it.
    if uri.scheme() == Some(&Scheme::HTTP)
        && let Some(host) = host(uri)
    {
        headers.entry(HOST).or_insert(host);
    }
}

/// The host of `uri`, with its port where that is not the usual one.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let name = uri.host()?;
    match uri.port_u16() {
        None | Some(80) => HeaderValue::try_from(name),
        Some(port) => HeaderValue::try_from(format!("{name}:{port}")),
    }
    .ok()
}
