//! Why a case has no result.

use llm_client::CallFailure;
use schema::{
    ModelError, PhaseError, PhaseErrorKind,
    safety::{ErrorKind, Stage},
};

/// Why a step of a case has no result.
#[derive(Clone, Debug)]
pub(super) enum CaseAbort {
    /// It was not finished, because of a stop or the budget. It leaves no row.
    NotRun(SkipReason),
    /// It failed.
    Failed(CaseFailure),
}

/// Why a case was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// The run was stopped.
    Stopped,
    /// The budget is spent.
    Budget,
}

impl SkipReason {
    /// The reason as the journal names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "cancelled",
            Self::Budget => "over_budget",
        }
    }
}

/// A failure, with the fields of an error row.
#[derive(Clone, Debug)]
pub(super) struct CaseFailure {
    pub(super) stage: Stage,
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    /// The message without the row's name, the same for all cases that failed in the same way.
    pub(super) reason: String,
}

impl CaseFailure {
    /// A failure that is not a failed call.
    pub(super) fn new(stage: Stage, kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            stage,
            kind,
            reason: message.clone(),
            message,
        }
    }
}

impl CaseAbort {
    /// A failure that is not a failed call.
    pub(super) fn of(stage: Stage, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Failed(CaseFailure::new(stage, kind, message))
    }

    /// The failure of a phase in `stage`.
    pub(super) fn of_phase(stage: Stage, error: &PhaseError) -> Self {
        match error.kind() {
            PhaseErrorKind::Cancelled => Self::NotRun(SkipReason::Stopped),
            PhaseErrorKind::OverBudget => Self::NotRun(SkipReason::Budget),
            _ => Self::Failed(CaseFailure {
                stage,
                kind: kind_of(error),
                message: error.to_string(),
                reason: error.reason(),
            }),
        }
    }
}

/// The kind of a phase's failure: that of the underlying call. A reply that the phase could not use has no failed call.
fn kind_of(error: &PhaseError) -> ErrorKind {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(call) = cause.downcast_ref::<ModelError>() {
            return kind_of_call(call);
        }
        source = cause.source();
    }
    match error.kind() {
        PhaseErrorKind::Failed => ErrorKind::InvalidResponse,
        _ => ErrorKind::Unknown,
    }
}

fn kind_of_call(error: &ModelError) -> ErrorKind {
    let failure = CallFailure::of(error);
    if failure.is_some_and(|failure| failure.status.is_none() && failure.reason == "timeout") {
        return ErrorKind::ModelTimeout;
    }
    ErrorKind::of_call(error.kind(), failure.and_then(|failure| failure.status))
}

#[cfg(test)]
mod tests {
    use schema::ModelErrorKind;

    use super::*;

    fn phase_error(kind: ModelErrorKind, failure: CallFailure) -> PhaseError {
        PhaseError::from_model("target x", ModelError::new(kind, "no").with_source(failure))
    }

    #[test]
    fn failed_calls_keep_their_sort() {
        let of = |kind, status, reason: &str| {
            let failure = CallFailure {
                status,
                reason: reason.to_owned(),
                ..CallFailure::default()
            };
            match CaseAbort::of_phase(Stage::Target, &phase_error(kind, failure)) {
                CaseAbort::Failed(failure) => failure.kind,
                CaseAbort::NotRun(_) => panic!("it failed"),
            }
        };
        use ModelErrorKind::{Permanent, Transient};
        assert_eq!(of(Transient, None, "timeout"), ErrorKind::ModelTimeout);
        assert_eq!(of(Transient, None, "reset"), ErrorKind::ModelUnreachable);
        assert_eq!(
            of(Permanent, Some(401), ""),
            ErrorKind::AuthenticationFailed
        );
    }

    #[test]
    fn a_stop_and_the_budget_are_no_failures() {
        for (kind, skip) in [
            (ModelErrorKind::Cancelled, SkipReason::Stopped),
            (ModelErrorKind::OverBudget, SkipReason::Budget),
        ] {
            let error = phase_error(kind, CallFailure::default());
            let abort = CaseAbort::of_phase(Stage::Judge, &error);
            assert!(matches!(abort, CaseAbort::NotRun(found) if found == skip));
        }
    }
}
