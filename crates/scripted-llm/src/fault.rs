//! Faults: what goes wrong, and for which calls.

use std::time::Duration;

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue},
};

use crate::{Role, Task};

/// One fault: what goes wrong, and for which calls. Without a condition it meets every call.
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

/// What goes wrong. Kinds that are about the reply's text keep the regular reply otherwise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An answer with this status, and headers. The body is an error in OpenAI's shape unless one is given.
    Status {
        /// The status.
        status: StatusCode,
        /// More headers.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// A `Retry-After` header with a date this long after the call.
        retry_at: Option<Duration>,
        /// The body, in place of the error.
        body: Option<String>,
    },
    /// Status 200 and a web page.
    Html,
    /// Status 200 and an error in OpenAI's shape.
    ErrorBody,
    /// The regular reply, cut in the middle; its length header fits what is left.
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
        /// MiB of text, 1024 at most.
        megabytes: usize,
    },
    /// The regular reply with bytes in its content that are not UTF-8.
    InvalidUtf8,
    /// No answer, ever. The connection stays open.
    Hang,
    /// The connection is closed after half of the body.
    Reset,
    /// The regular reply, this much later than usual.
    Slow(Duration),
    /// The reply in prose, in place of JSON.
    Prose,
    /// The reply in a Markdown fence. A client can read it.
    Fenced,
    /// The reply after a `<think>` block that holds an object of its own. A client can read it.
    Think,
    /// The reply's first boolean, else its first list, as a string: `"present": "true"`.
    WrongType,
    /// The reply's JSON object without its first key.
    MissingKey,
    /// The reply is this text.
    Says(String),
    /// Status 400 as OpenAI answers it, for calls that send this parameter; others are served.
    Unsupported(Parameter),
}

/// A parameter that an endpoint may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// `max_tokens`; the error asks for `max_completion_tokens`.
    MaxTokens,
    /// `max_completion_tokens`; the error says that it is not known.
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
    /// A fault that meets every call.
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

    /// An answer with this status and an error in OpenAI's shape.
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

    /// Adds a header to a status fault, `retry-after` for one; other faults stay as they are.
    ///
    /// # Errors
    /// When name or value cannot be in a header.
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

    /// Adds to a status fault a `Retry-After` header with a date, `after` from the moment of the call, rounded up to whole
    /// seconds; other faults stay as they are.
    #[must_use]
    pub fn retry_at(mut self, after: Duration) -> Self {
        if let FaultKind::Status { retry_at, .. } = &mut self.kind {
            *retry_at = Some(after);
        }
        self
    }

    /// Sets the body of a status fault; other faults stay as they are.
    #[must_use]
    pub fn body(mut self, text: impl Into<String>) -> Self {
        if let FaultKind::Status { body, .. } = &mut self.kind {
            *body = Some(text.into());
        }
        self
    }

    /// Only the first `count` calls that the other conditions let through.
    #[must_use]
    pub fn first(self, count: u64) -> Self {
        Self {
            first: Some(count),
            ..self
        }
    }

    /// Only this share of the calls that the other conditions let through, from 0 to 1. Which calls it is follows from
    /// their order of arrival.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self {
            share: Some(share),
            ..self
        }
    }

    /// Only calls of this model.
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Self {
            role: Some(role),
            ..self
        }
    }

    /// Only calls of this sort.
    #[must_use]
    pub fn task(self, task: Task) -> Self {
        Self {
            task: Some(task),
            ..self
        }
    }

    /// How much later than usual the call is answered.
    pub(crate) fn delay(&self) -> Duration {
        match self.kind {
            FaultKind::Slow(delay) => delay,
            _ => Duration::ZERO,
        }
    }
}
