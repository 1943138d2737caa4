//! Failed calls: their kinds for the layers, and their messages for people.

use std::{error::Error, time::Duration};

use files::out_of_files;
use reqwest::StatusCode;
use schema::{ModelError, ModelErrorKind, Purpose, Spend};

use crate::{scrub::Scrubber, settings::ModelSettings, unreached::Unreached, wire::Refusal};

/// The most bytes of an endpoint's message that an error shows.
const EXCERPT: usize = 300;
/// The most bytes of a body that are searched for the message.
const MOST_READ: usize = 64 << 10;

/// The details of a failed call that the layers above [`OpenAi`](crate::OpenAi) need. It is the source of the call's
/// [`ModelError`].
///
/// A custom model may give its errors this source as well, so that retries wait as long as its endpoint asks for.
#[derive(Clone, Debug, Default, PartialEq, thiserror::Error)]
#[error("{}{reason}", .status.map(|status| format!("status {status}: ")).unwrap_or_default())]
pub struct CallFailure {
    /// The HTTP status; `None` when no reply came.
    pub status: Option<u16>,
    /// How long the endpoint asks clients to wait.
    pub retry_after: Option<Duration>,
    /// Why no reply came, where retries depend on it.
    pub no_reply: Option<NoReply>,
    /// The endpoint's message, or what went wrong on the way; short, without secrets.
    pub reason: String,
}

/// Why no reply came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoReply {
    /// The endpoint did not answer in time.
    Timeout,
    /// Nothing listens at the address.
    Refused,
}

impl CallFailure {
    /// The details of `error`, if it has any.
    #[must_use]
    pub fn of(error: &ModelError) -> Option<&Self> {
        error.source()?.downcast_ref()
    }
}

/// The role of a model in the run, for messages.
pub(crate) fn role(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::TargetTurn => "target",
        Purpose::UserTurn => "user model",
        Purpose::Judge | Purpose::UserJudge | Purpose::Realism => "judge",
        Purpose::GenMetrics | Purpose::GenScenarios | Purpose::GenVariant => "generator",
        _ => "model",
    }
}

/// Creates the errors of one model.
pub(crate) struct Reporter {
    model: String,
    wire_name: String,
    endpoint: String,
    has_key: bool,
    key_name: Option<String>,
    timeout: Duration,
    /// The key of the configuration that has the address.
    address: &'static str,
    /// What is appended to the address.
    path: &'static str,
    /// What a good reply is.
    reply: &'static str,
    scrubber: Scrubber,
}

/// The path of chat completions.
const CHAT_COMPLETIONS: &str = "/chat/completions";

impl Reporter {
    pub(crate) fn new(settings: &ModelSettings) -> Self {
        Self {
            model: settings.id.as_str().to_owned(),
            wire_name: settings.model.clone(),
            endpoint: settings.endpoint(),
            has_key: settings.key().is_some(),
            key_name: settings.key_name.clone(),
            timeout: settings.request_timeout,
            address: "base_url",
            path: CHAT_COMPLETIONS,
            reply: "a chat completion",
            scrubber: Scrubber::new(settings),
        }
    }

    /// Errors name this key of the configuration for the address.
    pub(crate) fn with_address(mut self, key: &'static str) -> Self {
        self.address = key;
        self
    }

    /// Errors are those of an endpoint that is called at `path`, and answers with `reply`.
    pub(crate) fn with_interface(mut self, path: &'static str, reply: &'static str) -> Self {
        (self.path, self.reply) = (path, reply);
        self
    }

    pub(crate) fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    pub(crate) fn who(&self, purpose: Purpose) -> String {
        format!("{} {} at {}", role(purpose), self.model, self.endpoint)
    }

    /// The endpoint answered with an error: a status other than 2xx, or an error object.
    pub(crate) fn refused(
        &self,
        purpose: Purpose,
        status: u16,
        refusal: &Refusal,
        mut failure: CallFailure,
        spend: Spend,
    ) -> ModelError {
        // Endpoints that answer 200 put the real status into the error object.
        let meant = if (200..300).contains(&status) {
            refusal.status
        } else {
            Some(status)
        };
        let kind = refusal.kind(meant, failure.retry_after.is_some());
        failure.status = meant.or(Some(status));
        failure.reason = self.scrubber.excerpt(&refusal.message, EXCERPT);
        let who = match asks_for_address(meant) {
            // The address that was called shows what is wrong with `base_url`.
            true => format!(
                "{} {}: POST {}",
                role(purpose),
                self.model,
                called(&self.endpoint, self.path)
            ),
            false => self.who(purpose),
        };
        let mut message = format!("{who} answered {}", status_line(status));
        if meant != Some(status) {
            message.push_str(" with an error in it");
            if let Some(meant) = meant {
                message.push_str(&format!(" ({})", status_line(meant)));
            }
        }
        push_sentence(&mut message, ": ", &failure.reason);
        push_sentence(&mut message, ". ", &self.advice(kind, meant, refusal));
        let error = ModelError::new(kind, message)
            .with_spend(spend)
            .with_source(failure);
        match refusal.is_for_content() {
            true => error.refused_for_content(),
            false => error,
        }
    }

    /// The endpoint answered 2xx with something that is not a completion.
    pub(crate) fn malformed(
        &self,
        purpose: Purpose,
        reason: &str,
        body: &[u8],
        mut failure: CallFailure,
        spend: Spend,
    ) -> ModelError {
        // Reads much more than is shown: the scrubber would not find a secret that is cut in half.
        let body = String::from_utf8_lossy(&body[..body.len().min(MOST_READ)]);
        let body = self.scrubber.excerpt(&body, EXCERPT);
        failure.reason = self.scrubber.excerpt(reason, EXCERPT);
        let mut message = format!(
            "{} did not answer with {}: {}",
            self.who(purpose),
            self.reply,
            failure.reason
        );
        push_sentence(&mut message, "; it starts with: ", &body);
        let advice = match self.path {
            CHAT_COMPLETIONS => {
                "Check that base_url is the OpenAI-compatible one (it usually ends in /v1)"
                    .to_owned()
            }
            path => format!(
                "Check that `api` is right for it, and that base_url is the address before {path}"
            ),
        };
        push_sentence(&mut message, ". ", &advice);
        ModelError::new(ModelErrorKind::Malformed, message)
            .with_spend(spend)
            .with_source(failure)
    }

    /// No reply came.
    pub(crate) fn unreached(&self, purpose: Purpose, what: &Unreached) -> ModelError {
        let who = self.who(purpose);
        let (kind, message) = match what {
            Unreached::Timeout => (
                ModelErrorKind::Transient,
                format!(
                    "{who} did not answer within {} s. If it needs longer, raise its `timeout` in the config",
                    self.timeout.as_secs_f64()
                ),
            ),
            Unreached::Connect(_)
            | Unreached::Refused(_)
            | Unreached::ConnectTimeout(_)
            | Unreached::NotTls
            | Unreached::NotHttp => (
                ModelErrorKind::Transient,
                format!(
                    "{who} cannot be reached: {}. Is it running, and is {} right?",
                    what.reason(),
                    self.address
                ),
            ),
            Unreached::Certificate(reason) => (
                ModelErrorKind::Permanent,
                format!(
                    "{who} cannot be trusted: {reason}. Check base_url and the system's certificates"
                ),
            ),
            Unreached::Broken(reason) => (
                ModelErrorKind::Transient,
                format!("{who} broke the connection off: {reason}"),
            ),
            Unreached::TooLarge(limit) => (
                ModelErrorKind::Malformed,
                format!("{who} answered with more than {} MiB", limit >> 20),
            ),
            Unreached::Encoding(name) => (
                ModelErrorKind::Malformed,
                format!(
                    "{who} answered with `content-encoding: {name}`, which was not asked for and cannot be read. Let the server, or the proxy \
                     before it, answer without"
                ),
            ),
            Unreached::NoRoom(limit) => (
                ModelErrorKind::Transient,
                format!(
                    "{who}: the reply could not be read within {} s, for the replies in flight take {} MiB, which is all they may. \
                     Lower the concurrency",
                    self.timeout.as_secs_f64(),
                    limit >> 20
                ),
            ),
            Unreached::OutOfFiles => (
                ModelErrorKind::Permanent,
                format!("{who} was not called: {}", out_of_files()),
            ),
            Unreached::Unsent(reason) => (
                ModelErrorKind::Permanent,
                format!("the request to {who} could not be made: {reason}"),
            ),
        };
        let failure = CallFailure {
            reason: self.scrubber.excerpt(&what.reason(), EXCERPT),
            no_reply: match what {
                Unreached::Timeout => Some(NoReply::Timeout),
                Unreached::Refused(_) => Some(NoReply::Refused),
                _ => None,
            },
            ..CallFailure::default()
        };
        ModelError::new(kind, self.scrubber.excerpt(&message, 3 * EXCERPT)).with_source(failure)
    }

    /// Advice for the user.
    fn advice(&self, kind: ModelErrorKind, status: Option<u16>, refusal: &Refusal) -> String {
        let key = match &self.key_name {
            Some(name) => format!("{name} (apikey in the config)"),
            None => "apikey in the config".to_owned(),
        };
        if refusal.is_out_of_money() || status == Some(402) {
            return "The account has no credit left: top it up, or use another key".to_owned();
        }
        if refusal.is_too_long() {
            return "The conversation is longer than the model takes: fewer turns, or another model".to_owned();
        }
        match (status, kind) {
            (Some(401), _) if self.has_key => format!("Check the key in {key}"),
            (Some(401), _) => format!("No key is set: set {key}"),
            (Some(403), _) => format!("The key in {key} may not use this model"),
            (Some(404), _) => format!(
                "Is `base_url` the address before {}, and the model name {:?} right?",
                self.path, self.wire_name
            ),
            (status, _) if asks_for_address(status) => {
                format!("Is `base_url` the address before {}?", self.path)
            }
            (Some(413), _) => "The conversation is larger than the endpoint takes".to_owned(),
            (_, ModelErrorKind::RateLimited) => {
                "Lower the concurrency, or set requests and tokens per minute".to_owned()
            }
            (_, ModelErrorKind::Transient) => {
                "The endpoint is in trouble: run again later, finished calls are kept".to_owned()
            }
            _ => String::new(),
        }
    }
}

/// Whether a status means that the address may be wrong.
fn asks_for_address(status: Option<u16>) -> bool {
    matches!(status, Some(404 | 405 | 300..=399))
}

/// The address that is called for `endpoint`, which is shown without secrets, with `path` at its end.
fn called(endpoint: &str, path: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    match base.ends_with(path) {
        true => base.to_owned(),
        false => format!("{base}{path}"),
    }
}

/// `401 Unauthorized`.
fn status_line(status: u16) -> String {
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("{status} {reason}"),
        None => status.to_string(),
    }
}

/// Appends `text` after `before`, without doubling the full stop.
pub(crate) fn push_sentence(message: &mut String, before: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let before = if message.ends_with(['.', '!', '?', '…']) {
        before.trim_start_matches('.')
    } else {
        before
    };
    message.push_str(before);
    message.push_str(text);
}
