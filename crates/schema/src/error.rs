//! Errors of calls and of phases.

use std::{error::Error, fmt, sync::Arc};

use crate::{NoVerdict, Spend};

/// Why a call to a model failed. The text is for people and never contains a key or a header.
#[derive(Debug, thiserror::Error)]
#[error("{message}{}", tried(*.attempts))]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    attempts: u32,
    is_refusal: bool,
    spend: Spend,
    source: Option<Box<dyn Error + Send + Sync>>,
}

fn tried(attempts: u32) -> String {
    match attempts {
        0 | 1 => String::new(),
        n => format!(" (tried {n} times)"),
    }
}

/// The text of a [`ModelError`], or one that ends with it, without the number of attempts: the cause that several calls share.
#[must_use]
pub fn without_attempts(text: &str) -> &str {
    let number = text
        .strip_suffix(" times)")
        .and_then(|text| text.rsplit_once(" (tried "));
    match number {
        Some((cause, n)) if n.parse::<u32>().is_ok() => cause,
        _ => text,
    }
}

/// The kind of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// May succeed on a retry: no connection, a timeout, a 5xx.
    Transient,
    /// The endpoint requested a lower rate.
    RateLimited,
    /// Will fail again in the same way: a bad key, an unknown model, a refused request, an empty account.
    Permanent,
    /// The endpoint returned something that is not a chat completion.
    Malformed,
    /// The model has failed for so long that the call was given up without a further attempt.
    CircuitOpen,
    /// The call would have exceeded the run's budget and was not made.
    OverBudget,
    /// The run is stopping and the call was not made.
    Cancelled,
    /// The other side keeps the conversation, and has not seen these messages: it ended, or the turns before came from the cache. The call
    /// was not made, or its conversation is lost; the conversation has to begin again.
    Unseen,
}

impl ModelErrorKind {
    const ALL: [Self; 8] = [
        Self::Transient,
        Self::RateLimited,
        Self::Permanent,
        Self::Malformed,
        Self::CircuitOpen,
        Self::OverBudget,
        Self::Cancelled,
        Self::Unseen,
    ];

    /// The kind with this name in a journal; `None` for one of another version.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The name of the kind, for journals and summaries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::RateLimited => "rate_limited",
            Self::Permanent => "permanent",
            Self::Malformed => "malformed",
            Self::CircuitOpen => "circuit_open",
            Self::OverBudget => "over_budget",
            Self::Cancelled => "cancelled",
            Self::Unseen => "unseen",
        }
    }
}

impl ModelError {
    /// An error of this kind. `message` says what went wrong, with which model, and what to do about it.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            attempts: 1,
            is_refusal: false,
            spend: Spend::default(),
            source: None,
        }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets what the failed attempts used and cost.
    #[must_use]
    pub fn with_spend(mut self, spend: Spend) -> Self {
        self.spend = spend;
        self
    }

    /// Sets how often the call was tried.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Marks the error as a refusal of the request's content by a provider's filter.
    #[must_use]
    pub fn refused_for_content(mut self) -> Self {
        self.is_refusal = true;
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Why a row has no verdict if this is the cause.
    #[must_use]
    pub fn no_verdict(&self) -> NoVerdict {
        match self.kind {
            ModelErrorKind::OverBudget => NoVerdict::Budget,
            _ if self.is_refusal => NoVerdict::ProviderRefused,
            _ => NoVerdict::CallFailed,
        }
    }

    /// Whether a provider's filter refused the request for its content.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// What the failed attempts used and cost, if they were billed.
    #[must_use]
    pub fn spend(&self) -> &Spend {
        &self.spend
    }

    /// How often the call was tried.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// Why a phase could not process a row. The text is for people.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text(self.row.as_ref().map(|on| &*on.row)))]
pub struct PhaseError {
    kind: PhaseErrorKind,
    message: String,
    no_verdict: Option<NoVerdict>,
    row: Option<OnRow>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The model or phase that failed, and the row.
#[derive(Debug)]
struct OnRow {
    who: String,
    row: Arc<str>,
}

/// The kind of a phase's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PhaseErrorKind {
    /// The row failed. It costs only itself.
    Failed,
    /// The input of the phase cannot be used: a prompt template that does not render, a missing metric.
    BadInput,
    /// The run's budget does not allow the row. It was not finished, and this is not a failure of the model.
    OverBudget,
    /// The run is stopping. The row was not finished, and this is not a failure.
    Cancelled,
}

/// A failed call.
impl From<ModelError> for PhaseError {
    fn from(error: ModelError) -> Self {
        let kind = match error.kind {
            ModelErrorKind::Cancelled => PhaseErrorKind::Cancelled,
            ModelErrorKind::OverBudget => PhaseErrorKind::OverBudget,
            _ => PhaseErrorKind::Failed,
        };
        Self::new(kind, error.to_string())
            .with_no_verdict(error.no_verdict())
            .with_source(error)
    }
}

impl PhaseError {
    /// An error of this kind. `message` says what went wrong and with which row.
    #[must_use]
    pub fn new(kind: PhaseErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            no_verdict: (kind == PhaseErrorKind::OverBudget).then_some(NoVerdict::Budget),
            row: None,
            source: None,
        }
    }

    /// The error for a failed call. `what` names what the call was for.
    #[must_use]
    pub fn from_model(what: impl fmt::Display, error: ModelError) -> Self {
        let message = format!("{what}: {error}");
        Self {
            message,
            ..Self::from(error)
        }
    }

    /// Sets why rows that fail with this error have no verdict.
    #[must_use]
    pub fn with_no_verdict(mut self, reason: NoVerdict) -> Self {
        self.no_verdict = Some(reason);
        self
    }

    /// Why rows that fail with this error have no verdict; `None` if the phase did not set it.
    #[must_use]
    pub fn no_verdict(&self) -> Option<NoVerdict> {
        self.no_verdict
    }

    /// Adds what failed, `judge gpt-4o` for example, and the row: the text is then `WHO on ROW: MESSAGE`.
    #[must_use]
    pub fn on_row(mut self, who: impl Into<String>, row: impl Into<Arc<str>>) -> Self {
        self.row = Some(OnRow {
            who: who.into(),
            row: row.into(),
        });
        self
    }

    /// The text with `(row)` in place of the row of [`on_row`](Self::on_row): the same for all rows that failed in the same way.
    #[must_use]
    pub fn reason(&self) -> String {
        self.text(self.row.as_ref().map(|_| "(row)"))
    }

    fn text(&self, row: Option<&str>) -> String {
        match (&self.row, row) {
            (Some(on), Some(row)) => format!("{} on {row}: {}", on.who, self.message),
            _ => self.message.clone(),
        }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> PhaseErrorKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_of_two_rows_has_one_reason() {
        let of = |row: &str| {
            let error = ModelError::new(ModelErrorKind::Permanent, "a bad key");
            PhaseError::from(error).on_row("judge j", row)
        };
        assert_eq!(of("a__x").to_string(), "judge j on a__x: a bad key");
        assert_eq!(of("a__x").reason(), "judge j on (row): a bad key");
        assert_eq!(of("a__x").reason(), of("b__x").reason());
        let plain = PhaseError::new(PhaseErrorKind::Failed, "no row");
        assert_eq!(plain.reason(), plain.to_string());
    }
}
