//! What a row of `scores.json` says: the one place that decides it.

use crate::NoVerdict;

/// What a row of scores says about its metric: [`Score::outcome`](crate::Score::outcome).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreOutcome {
    /// The target passed.
    Passed,
    /// The target failed.
    Failed,
    /// There is no verdict, and no rate counts the row.
    Unscored(Unscored),
}

/// Why a row has no verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unscored {
    /// Whether a call or the conversation failed. Otherwise the judge replied without a usable verdict.
    pub is_error: bool,
    /// The kind of reason; `None` on rows of programs that do not record it.
    pub reason: Option<NoVerdict>,
}

impl ScoreOutcome {
    /// The outcome of a row with these keys: `passed`, whether there is an `error`, and `_no_verdict`. A row with a verdict has that, whatever
    /// else it holds.
    ///
    /// ```
    /// use schema::{NoVerdict, ScoreOutcome, Unscored};
    ///
    /// assert_eq!(ScoreOutcome::of(Some(true), false, None), ScoreOutcome::Passed);
    /// let failed = Unscored { is_error: true, reason: Some(NoVerdict::CallFailed) };
    /// assert_eq!(ScoreOutcome::of(None, true, Some(NoVerdict::CallFailed)), ScoreOutcome::Unscored(failed));
    /// ```
    #[must_use]
    pub fn of(passed: Option<bool>, is_error: bool, reason: Option<NoVerdict>) -> Self {
        match passed {
            Some(true) => Self::Passed,
            Some(false) => Self::Failed,
            None => Self::Unscored(Unscored { is_error, reason }),
        }
    }

    /// Whether the target passed; `None` without a verdict.
    #[must_use]
    pub fn passed(self) -> Option<bool> {
        match self {
            Self::Passed => Some(true),
            Self::Failed => Some(false),
            Self::Unscored(_) => None,
        }
    }

    /// Whether there is a verdict.
    #[must_use]
    pub fn is_scored(self) -> bool {
        self.passed().is_some()
    }

    /// The kind of reason why there is no verdict, if it is known.
    #[must_use]
    pub fn reason(self) -> Option<NoVerdict> {
        match self {
            Self::Unscored(unscored) => unscored.reason,
            Self::Passed | Self::Failed => None,
        }
    }
}
