//! Faults: the kind of failure, and the calls that it affects.

use std::time::Duration;

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue},
};

use crate::{Role, Task};

/// One fault: the kind of failure, and the calls that it affects. Without a condition it affects every call.
///
/// ```
/// use scripted_llm::{Fault, FaultKind, Task};
///
/// // The first three judge calls get a Retry-After.
/// let fault = Fault::status(429)?.header("retry-after", "0.5")?.first(3).task(Task::Judge);
/// // The same, as the binary's `--fault` takes it.
/// let same: Fault = "429; retry-after=0.5; first=3; task=judge".parse()?;
/// assert_eq!(fault, same);
/// // One call in ten, chosen by a hash of how many came before it, is never answered.
/// let hang = Fault::new(FaultKind::Hang).share(0.1);
/// # Ok::<(), scripted_llm::FaultError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) first: Option<u64>,
    pub(crate) share: Option<f64>,
    pub(crate) role: Option<Role>,
    pub(crate) task: Option<Task>,
}

/// The kind of failure. Kinds that change the reply's text leave the rest of the regular reply unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An answer with this status, and headers. The body is an error in OpenAI's format unless `body` is set.
    Status {
        /// The status.
        status: StatusCode,
        /// Additional headers.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// A `Retry-After` header with a date this long after the call.
        retry_at: Option<Duration>,
        /// The body, instead of the error.
        body: Option<String>,
    },
    /// Status 200 and a web page.
    Html,
    /// Status 200 and an error in OpenAI's format.
    ErrorBody,
    /// The regular reply, cut in the middle; its length header matches the cut body.
    TruncatedJson,
    /// The regular reply without `choices`.
    NoChoices,
    /// The regular reply with null as its content.
    NullContent,
    /// The regular reply with an empty content.
    EmptyContent,
    /// The regular reply without `usage`.
    NoUsage,
    /// A content of this many MiB.
    Big {
        /// MiB of text, at most 1024.
        megabytes: usize,
    },
    /// The regular reply with bytes in its content that are not UTF-8.
    InvalidUtf8,
    /// No answer. The connection stays open.
    Hang,
    /// The connection is closed after half of the body.
    Reset,
    /// The regular reply, with this additional delay.
    Slow(Duration),
    /// The reply as prose instead of JSON.
    Prose,
    /// The reply in a Markdown fence, which a client can parse.
    Fenced,
    /// The reply after a `<think>` block that contains another object, which a client can parse.
    Think,
    /// The reply's first boolean, else its first list, as a string: `"present": "true"`.
    WrongType,
    /// The reply's JSON object without its first key.
    MissingKey,
    /// The reply is this text.
    Says(String),
    /// Status 400 in OpenAI's format, for calls with this parameter; other calls are served.
    Unsupported(Parameter),
}

/// A parameter that an endpoint may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// `max_tokens`; the error asks for `max_completion_tokens`.
    MaxTokens,
    /// `max_completion_tokens`; the error says that it is unknown.
    MaxCompletionTokens,
    /// `response_format` of type `json_schema`.
    JsonSchema,
    /// `response_format` of type `json_object` or `json_schema`.
    ResponseFormat,
    /// `temperature` other than 1.
    Temperature,
    /// `seed`.
    Seed,
}

/// A fault that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault {text:?}: {reason}")]
pub struct FaultError {
    pub(crate) text: String,
    pub(crate) reason: String,
}

impl FaultError {
    pub(crate) fn new(text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            reason: reason.into(),
        }
    }
}

impl Fault {
    /// A fault that affects every call.
    #[must_use]
    pub fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            first: None,
            share: None,
            role: None,
            task: None,
        }
    }

    /// An answer with this status and an error in OpenAI's format.
    ///
    /// # Errors
    /// When the status is not from 200 to 599.
    pub fn status(status: u16) -> Result<Self, FaultError> {
        let status = StatusCode::from_u16(status)
            .ok()
            .filter(|status| (200..600).contains(&status.as_u16()))
            .ok_or_else(|| FaultError::new(status.to_string(), "a status is from 200 to 599"))?;
        Ok(Self::new(FaultKind::Status {
            status,
            headers: Vec::new(),
            retry_at: None,
            body: None,
        }))
    }

    /// Adds a header, such as `retry-after`, to a status fault; other faults are unchanged.
    ///
    /// # Errors
    /// When the name or the value is not valid in a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, FaultError> {
        if let FaultKind::Status { headers, .. } = &mut self.kind {
            let name = name
                .parse()
                .map_err(|_| FaultError::new(name, "not a valid header name"))?;
            let value = value
                .parse()
                .map_err(|_| FaultError::new(value, "not allowed in a header"))?;
            headers.push((name, value));
        }
        Ok(self)
    }

    /// Adds a `Retry-After` header to a status fault, with a date `after` the moment of the call, rounded up to whole
    /// seconds; other faults are unchanged.
    #[must_use]
    pub fn retry_at(mut self, after: Duration) -> Self {
        if let FaultKind::Status { retry_at, .. } = &mut self.kind {
            *retry_at = Some(after);
        }
        self
    }

    /// Sets the body of a status fault; other faults are unchanged.
    #[must_use]
    pub fn body(mut self, text: impl Into<String>) -> Self {
        if let FaultKind::Status { body, .. } = &mut self.kind {
            *body = Some(text.into());
        }
        self
    }

    /// Affects only the first `count` calls that match the other conditions.
    #[must_use]
    pub fn first(self, count: u64) -> Self {
        Self {
            first: Some(count),
            ..self
        }
    }

    /// Affects only this share of the calls that match the other conditions, from 0 to 1. The order of arrival determines
    /// which calls.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self {
            share: Some(share),
            ..self
        }
    }

    /// Affects only calls of this model.
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Self {
            role: Some(role),
            ..self
        }
    }

    /// Affects only calls of this task.
    #[must_use]
    pub fn task(self, task: Task) -> Self {
        Self {
            task: Some(task),
            ..self
        }
    }

    /// The additional delay of the call.
    pub(crate) fn delay(&self) -> Duration {
        match self.kind {
            FaultKind::Slow(delay) => delay,
            _ => Duration::ZERO,
        }
    }
}
