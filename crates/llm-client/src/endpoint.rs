//! The address and headers of an endpoint, in the form that async-openai expects.

use async_openai::config::Config;
use reqwest::{
    Url,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{SettingsError, http::Route, settings::ModelSettings};

/// The address and headers of an endpoint. Nothing in it comes from the environment.
pub(crate) struct Endpoint {
    url: Url,
    headers: HeaderMap,
    /// Empty: the key is among the headers.
    no_key: SecretString,
}

impl Endpoint {
    /// The endpoint of `settings`.
    pub(crate) fn new(settings: &ModelSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            url: address_of(settings, "/chat/completions")?,
            headers: headers(settings, KeyHeader::Bearer)?,
            no_key: SecretString::default(),
        })
    }

    /// The route to it.
    pub(crate) fn route(&self) -> Route {
        Route::to(&self.url)
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// The address of chat completions, the only path that is requested.
    fn url(&self, _path: &str) -> String {
        self.url.as_str().to_owned()
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        self.url.as_str()
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// The address of the endpoint of `settings` with `path` at its end, which may already be there.
pub(crate) fn address_of(settings: &ModelSettings, path: &str) -> Result<Url, SettingsError> {
    let wrong = |reason: &str| SettingsError::url(settings, reason);
    let mut url =
        Url::parse(settings.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it must start with http:// or https://"));
    }
    // Hyper rejects some URLs that the parser accepts.
    http::Uri::try_from(url.as_str()).map_err(|error| wrong(&error.to_string()))?;
    let given = url.path().trim_end_matches('/');
    let base = given.strip_suffix(path).unwrap_or(given);
    let whole = format!("{base}{path}");
    url.set_path(&whole);
    url.set_fragment(None);
    Ok(url)
}

/// The header that has the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`, as Anthropic wants it.
    ApiKey,
}

/// The key and the further headers of `settings`.
pub(crate) fn headers(
    settings: &ModelSettings,
    key_header: KeyHeader,
) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = settings.key() {
        let (name, value) = match key_header {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            KeyHeader::ApiKey => (HeaderName::from_static("x-api-key"), key.to_owned()),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| SettingsError::key(settings))?;
        value.set_sensitive(true);
        headers.insert(name, value);
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
    Ok(headers)
}
