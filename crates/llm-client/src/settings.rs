//! The settings of a model's calls.

use std::{fmt, sync::Arc, time::Duration};

use schema::{Extra, HIDDEN, ModelId, Usage, reasoning::ReasoningOpening};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    redacted_url::redacted_url,
    scrub::masked,
    wire::{Form, Wire},
};

/// Everything that decides how a model is called. `Debug` shows neither keys nor header values.
#[derive(Clone)]
pub struct ModelSettings {
    /// The user's own name for the model.
    pub id: ModelId,
    /// The model's name on the wire.
    pub model: String,
    /// The address of the endpoint, without `/chat/completions`: `https://api.openai.com/v1`. A trailing slash is optional.
    pub base_url: String,
    /// The version of what answers at the endpoint, in the user's words: a commit, a date. It is part of cache keys where it is given, so
    /// that replies of another version are not used. It is not sent.
    pub version: Option<String>,
    /// Replaces `base_url` in cache keys. For endpoints whose address changes between runs but whose answers do not.
    pub cache_name: Option<String>,
    /// Sent as `Authorization: Bearer …`.
    pub api_key: Option<SecretString>,
    /// The source of the key, for error messages: usually the name of an environment variable.
    pub key_name: Option<String>,
    /// Further headers of every call. A header named `Authorization` replaces the one with the key.
    pub extra_headers: Vec<(String, SecretString)>,
    /// Further secret texts, such as a key in the path of `base_url`. They are hidden in the endpoint's address, and removed from what the
    /// endpoint echoes.
    pub hidden: Vec<SecretString>,
    /// The most tokens of a reply, on most endpoints including reasoning. `None`: the endpoint decides.
    pub max_tokens: Option<u32>,
    /// Sampling temperature. `None`: the endpoint decides, as for the other sampling settings.
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    pub top_p: Option<f64>,
    /// The beginning of each reply: see [`Prefilled`](crate::Prefilled). `None`: the model begins by itself.
    pub prefill: Option<Arc<str>>,
    /// Sampling seed, for endpoints that support it.
    pub seed: Option<i64>,
    /// How much a reasoning model should think: `low`, `medium`, `high`, or another value that the endpoint supports.
    pub reasoning_effort: Option<String>,
    /// What opens the reasoning block of a reply. It decides how a reply is read, and is not part of the request.
    pub reasoning_opening: ReasoningOpening,
    /// Whether the reasoning of earlier replies is sent back in the field that it came in.
    pub reasoning_sent_back: ReasoningSentBack,
    /// Whether requests ask the provider to cache the beginning that they share with others: `cache_control` in Anthropic's Messages,
    /// `prompt_cache_key` in OpenAI's interfaces. `None`: at every endpoint of Messages, and at OpenAI's and Azure's addresses. It changes no
    /// reply and is part of no cache key.
    pub prompt_caching: Option<bool>,
    /// Further fields of the request body. A field with the name of one of Probity's own replaces it.
    pub extra_body: Extra,
    /// The name under which `max_tokens` is sent.
    pub token_limit: TokenLimitName,
    /// The strongest response format to request from the endpoint.
    pub structured: StructuredSupport,
    /// How long one attempt may take, from connecting to the last byte. 300 seconds by default.
    pub request_timeout: Duration,
    /// The model's price. `None`: unknown, and no cost is computed.
    pub price: Option<Price>,
    /// Whether `price` is an assumption: the model runs on this machine, and no price was given.
    pub assumed_free: bool,
    /// What answers in the place of an OpenAI-compatible endpoint at `base_url`, which then only names what the limits are for.
    pub wire: Option<Arc<dyn Wire>>,
}

impl ModelSettings {
    /// The key without surrounding white space; `None` if it is missing or blank.
    pub(crate) fn key(&self) -> Option<&str> {
        let key = self.api_key.as_ref()?.expose_secret().trim();
        (!key.is_empty()).then_some(key)
    }

    /// Settings with these values, and defaults for all others.
    #[must_use]
    pub fn new(id: ModelId, model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            id,
            model: model.into(),
            base_url: base_url.into(),
            version: None,
            cache_name: None,
            api_key: None,
            key_name: None,
            extra_headers: Vec::new(),
            hidden: Vec::new(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            prefill: None,
            seed: None,
            reasoning_effort: None,
            reasoning_opening: ReasoningOpening::Reply,
            reasoning_sent_back: ReasoningSentBack::Never,
            prompt_caching: None,
            extra_body: Extra::new(),
            token_limit: TokenLimitName::Auto,
            structured: StructuredSupport::Auto,
            request_timeout: Duration::from_secs(300),
            price: None,
            assumed_free: false,
            wire: None,
        }
    }

    /// Whether the endpoint needs a mark on the message that begins the reply: Mistral and DeepSeek go on with it only then.
    pub(crate) fn marks_prefill(&self) -> bool {
        self.prefill.is_some() && self.is_at(&["mistral.ai", "deepseek.com"])
    }

    /// Whether the endpoint's host is in one of these domains, in lower case.
    pub(crate) fn is_at(&self, domains: &[&str]) -> bool {
        let address = self.address().to_ascii_lowercase();
        let rest = address.split("://").last().unwrap_or_default();
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        domains.iter().any(|domain| {
            let before = host.strip_suffix(domain);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
    }

    /// The settings that requests send besides their messages, under their names on the wire: `max_tokens`, `temperature` and so on, and
    /// the fields of `extra_body`, with `***` in place of texts whose name suggests a secret. A setting that an endpoint refuses is no
    /// longer sent to it.
    ///
    /// ```
    /// use llm_client::ModelSettings;
    ///
    /// let mut settings = ModelSettings::new(schema::ModelId::new("a")?, "a-1", "https://api.example.org/v1");
    /// settings.max_tokens = Some(100);
    /// assert_eq!(settings.sent_options()["max_tokens"], 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sent_options(&self) -> Extra {
        let mut options = Extra::new();
        let limit = Form::of(self).token_limit();
        let own = [
            (limit, self.max_tokens.map(Value::from)),
            ("temperature", self.temperature.map(Value::from)),
            ("top_p", self.top_p.map(Value::from)),
            ("seed", self.seed.map(Value::from)),
            (
                "reasoning_effort",
                self.reasoning_effort.clone().map(Value::from),
            ),
        ];
        for (name, value) in own {
            options.extend(value.map(|value| (name.to_owned(), value)));
        }
        if let Value::Object(fields) = masked(&self.extra_body.clone().into()) {
            options.extend(fields);
        }
        options
    }

    /// `base_url` for display: without user name, password, query, fragment, trailing slashes, and parts of the path that look like keys.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let shown = redacted_url(&self.base_url);
        let start = shown.find("://").map_or(0, |at| at + "://".len());
        let Some(at) = shown.split_at(start).1.find('/') else {
            return shown;
        };
        let (host, path) = shown.split_at(start + at);
        let texts = self.hidden.iter().map(|text| text.expose_secret().trim());
        let path = texts
            .filter(|text| !text.is_empty())
            .fold(path.to_owned(), |path, text| path.replace(text, HIDDEN));
        format!("{host}{path}")
    }

    /// `base_url` for cache keys, and to distinguish endpoints: like [`endpoint`](Self::endpoint), with the whole path. It is never written
    /// to a file or shown.
    pub(crate) fn address(&self) -> String {
        address(&self.base_url)
    }
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("id", &self.id)
            .field("model", &self.model)
            .field("base_url", &self.endpoint())
            .field("version", &self.version)
            .field("cache_name", &self.cache_name)
            .field("api_key", &self.api_key)
            .field("key_name", &self.key_name)
            .field("extra_headers", &self.extra_headers)
            .field("hidden", &self.hidden)
            .field("max_tokens", &self.max_tokens)
            .field("temperature", &self.temperature)
            .field("top_p", &self.top_p)
            .field("prefill", &self.prefill)
            .field("seed", &self.seed)
            .field("reasoning_effort", &self.reasoning_effort)
            .field("reasoning_opening", &self.reasoning_opening)
            .field("reasoning_sent_back", &self.reasoning_sent_back)
            .field("prompt_caching", &self.prompt_caching)
            .field("extra_body", &masked(&self.extra_body.clone().into()))
            .field("token_limit", &self.token_limit)
            .field("structured", &self.structured)
            .field("request_timeout", &self.request_timeout)
            .field("price", &self.price)
            .field("assumed_free", &self.assumed_free)
            .field("wire", &self.wire)
            .finish()
    }
}

/// A URL without user name, password, query and fragment. It is part of the keys of stored replies, so it must not change.
fn address(url: &str) -> String {
    let before_query = url.split(['?', '#']).next().unwrap_or_default();
    let url = before_query.trim().trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// When the reasoning of earlier replies is sent back, in the field that it came in.
///
/// Most endpoints ignore it or do without. DeepSeek refuses a conversation with tools in which it is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningSentBack {
    /// It is left out.
    #[default]
    Never,
    /// In requests that offer tools.
    WithTools,
    /// In every request.
    Always,
}

/// The name under which the token limit is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimitName {
    /// `max_completion_tokens` for api.openai.com, else `max_tokens`; switched when the endpoint refuses it.
    #[default]
    Auto,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`, the newer name.
    MaxCompletionTokens,
}

/// The strongest response format to request from an endpoint. When the endpoint refuses a format, the next weaker one is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredSupport {
    /// Starts with the strongest.
    #[default]
    Auto,
    /// `json_schema`: replies follow a schema.
    JsonSchema,
    /// `json_object`: replies are JSON.
    JsonObject,
    /// No response format at all: the prompt alone asks for JSON.
    Text,
}

/// What a model costs, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received, thinking included.
    pub output: f64,
    /// Tokens sent that the endpoint read from its own prompt cache. `None`: the price of `input`.
    pub cached_input: Option<f64>,
    /// Tokens sent that the endpoint wrote to its own prompt cache, where it reports them. `None`: [`Price::CACHE_WRITE`] times `input`.
    pub cache_write: Option<f64>,
}

impl Price {
    /// Of a model that costs nothing.
    pub const FREE: Self = Self {
        input: 0.0,
        output: 0.0,
        cached_input: None,
        cache_write: None,
    };

    /// What a written token costs, in tokens of other input: [Anthropic](https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching)
    /// for five minutes, and OpenAI from GPT-5.6 on. Endpoints that write for nothing report no writes.
    pub const CACHE_WRITE: f64 = 1.25;

    /// What `usage` costs, in dollars.
    ///
    /// ```
    /// use llm_client::Price;
    /// use schema::Usage;
    ///
    /// let price = Price { input: 2.0, output: 8.0, cached_input: Some(0.5), cache_write: None };
    /// let usage = Usage { input_tokens: 1_000, cached_input_tokens: 400, output_tokens: 100, ..Usage::default() };
    /// assert!((price.cost(&usage) - 0.0022).abs() < 1e-12);
    /// let written = Usage { cache_write_tokens: 600, ..usage };
    /// assert!((price.cost(&written) - 0.0025).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        let dollars = tokens(fresh) * self.input
            + tokens(cached) * self.cached_input.unwrap_or(self.input)
            + tokens(written) * self.written()
            + tokens(usage.output_tokens) * self.output;
        dollars / 1e6
    }

    /// Dollars per million tokens written to the endpoint's prompt cache.
    #[must_use]
    pub fn written(&self) -> f64 {
        self.cache_write.unwrap_or(self.input * Self::CACHE_WRITE)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
fn tokens(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let id = ModelId::new("m").unwrap();
        let mut settings =
            ModelSettings::new(id, "m", "https://me:pass-word@host:1/v1/?key=query-key");
        settings.api_key = Some("sk-key".into());
        settings.extra_headers = vec![("X-Token".to_owned(), "header-value".into())];
        let shown = format!("{settings:?}");
        for secret in ["pass-word", "query-key", "sk-key", "header-value"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(settings.endpoint(), "https://host:1/v1");
    }

    #[test]
    fn a_key_in_the_path_is_not_shown_and_distinguishes_endpoints() {
        let id = ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "m", "https://v1.host/shared/pass/v1/");
        settings.hidden = vec!["shared/pass".into()];
        assert_eq!(settings.endpoint(), "https://v1.host/***/v1");
        assert_eq!(settings.address(), "https://v1.host/shared/pass/v1");
    }

    #[test]
    fn cached_tokens_cost_as_input_without_a_price_of_their_own() {
        let price = Price {
            input: 1.0,
            output: 2.0,
            cached_input: None,
            cache_write: Some(100.0),
        };
        let usage = Usage {
            input_tokens: 10,
            cached_input_tokens: 20,
            output_tokens: 5,
            reasoning_tokens: 3,
            ..Usage::default()
        };
        assert!((price.cost(&usage) - 20e-6).abs() < 1e-15);
    }
}
