//! Failed calls: their kinds for the layers, and their messages for people.

use std::{
    error::Error,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use reqwest::StatusCode;
use schema::{ModelError, ModelErrorKind, Purpose, Spend, out_of_files};

use crate::{scrub::Scrubber, settings::ModelSettings, unreached::Unreached, wire::Refusal};

/// How much of an endpoint's words a message holds, in bytes.
const EXCERPT: usize = 300;
/// How much of a body is looked at for them, in bytes.
const MOST_READ: usize = 64 << 10;

/// What the layers above [`OpenAi`](crate::OpenAi) need to know of a failed call. It is the source of its [`ModelError`].
///
/// A model of one's own may give its errors this source as well, so that retries wait as long as its endpoint asks for.
#[derive(Clone, Debug, Default, PartialEq, thiserror::Error)]
#[error("{}{reason}", .status.map(|status| format!("status {status}: ")).unwrap_or_default())]
pub struct CallFailure {
    /// The HTTP status; `None` when no reply came.
    pub status: Option<u16>,
    /// How long the endpoint wants to be left alone.
    pub retry_after: Option<Duration>,
    /// Stands for what the endpoint said: equal for equal bodies. `None` where nothing can be said of the next attempt.
    pub body_hash: Option<u64>,
    /// What the endpoint said, or what went wrong on the way; short, without secrets.
    pub reason: String,
}

impl CallFailure {
    /// The details of `error`, where it has some.
    #[must_use]
    pub fn of(error: &ModelError) -> Option<&Self> {
        error.source()?.downcast_ref()
    }
}

/// A number that stands for `body`.
pub(crate) fn body_hash(body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}

/// What a model is to the run, for messages.
pub(crate) fn role(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::TargetTurn => "target",
        Purpose::UserTurn => "user model",
        Purpose::Judge | Purpose::UserJudge | Purpose::Realism => "judge",
        Purpose::GenMetrics | Purpose::GenScenarios | Purpose::GenVariant => "generator",
        _ => "model",
    }
}

/// Makes the errors of one model.
pub(crate) struct Reporter {
    model: String,
    wire_name: String,
    endpoint: String,
    has_key: bool,
    key_name: Option<String>,
    timeout: Duration,
    scrubber: Scrubber,
}

impl Reporter {
    pub(crate) fn new(settings: &ModelSettings) -> Self {
        Self {
            model: settings.id.as_str().to_owned(),
            wire_name: settings.model.clone(),
            endpoint: settings.endpoint(),
            has_key: settings.key().is_some(),
            key_name: settings.key_name.clone(),
            timeout: settings.request_timeout,
            scrubber: Scrubber::new(settings),
        }
    }

    pub(crate) fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    fn who(&self, purpose: Purpose) -> String {
        format!("{} {} at {}", role(purpose), self.model, self.endpoint)
    }

    /// The endpoint answered with an error: a status that is no 2xx, or an error object.
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
        let mut message = format!("{} answered {}", self.who(purpose), status_line(status));
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
        // Much more than is shown: a secret that is cut in half would not be found.
        let body = String::from_utf8_lossy(&body[..body.len().min(MOST_READ)]);
        let body = self.scrubber.excerpt(&body, EXCERPT);
        failure.reason = self.scrubber.excerpt(reason, EXCERPT);
        let mut message = format!(
            "{} did not answer with a chat completion: {}",
            self.who(purpose),
            failure.reason
        );
        push_sentence(&mut message, "; it starts with: ", &body);
        push_sentence(
            &mut message,
            ". ",
            "Check that base_url is the OpenAI-compatible one (it usually ends in /v1)",
        );
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
            Unreached::Connect(_) | Unreached::ConnectTimeout(_) | Unreached::NotTls => (
                ModelErrorKind::Transient,
                format!(
                    "{who} cannot be reached: {}. Is it running, and is base_url right?",
                    what.reason()
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
            // A timeout is the same as the next one. A lost connection may come back at any time.
            body_hash: matches!(what, Unreached::Timeout).then_some(0),
            ..CallFailure::default()
        };
        ModelError::new(kind, self.scrubber.excerpt(&message, 3 * EXCERPT)).with_source(failure)
    }

    /// What to do about it.
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
                "Check the model name {:?} and base_url (it usually ends in /v1)",
                self.wire_name
            ),
            (Some(405 | 300..=399), _) => "Check base_url (it usually ends in /v1)".to_owned(),
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

/// Appends `text` with `before` between, without doubling the full stop.
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
