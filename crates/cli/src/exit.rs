//! The exit codes and errors of the program.

use std::process::ExitCode;

use probity::{RunError, RunErrorKind, RunOutcome};
use schema::{Notice, ProgramName};

use crate::config::ConfigError;

/// The exit codes. They are documented in `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Complete,
    /// The run finished, and some rows failed.
    FailedRows,
    /// The command line or the configuration cannot be used.
    Usage,
    /// Nothing could be run, or the result cannot be written.
    NothingRan,
    /// The user stopped the program.
    Interrupted,
    /// A rule of a gate failed, or the failure rate of a safety evaluation is above the threshold.
    GateFailed,
    /// The rows do not decide at least one rule of a gate, and no rule failed.
    Inconclusive,
    /// A safety evaluation with more errors than allowed.
    TooManyErrors,
    /// A safety evaluation is incomplete: the budget was spent, or something could not be stored.
    Incomplete,
}

impl Exit {
    /// The code for the shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::FailedRows | Self::GateFailed => 1,
            Self::Usage => 2,
            Self::NothingRan => 3,
            Self::TooManyErrors | Self::Inconclusive => 4,
            Self::Incomplete => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<RunOutcome> for Exit {
    fn from(outcome: RunOutcome) -> Self {
        match outcome {
            RunOutcome::Complete => Self::Complete,
            RunOutcome::FailedRows => Self::FailedRows,
            RunOutcome::NothingRan => Self::NothingRan,
            RunOutcome::Interrupted => Self::Interrupted,
        }
    }
}

/// Why a command failed: one or more lines for people.
#[derive(Debug)]
pub struct Failure {
    /// The exit code of the program.
    pub exit: Exit,
    message: Notice,
}

impl Failure {
    /// An error that the user has to fix first.
    pub fn usage(message: impl Into<Notice>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// The message, with commands of `program`.
    pub fn text(&self, program: &ProgramName) -> String {
        self.message.text(program)
    }

    /// An external error that prevented everything from running.
    pub fn nothing_ran(message: impl Into<Notice>) -> Self {
        Self {
            exit: Exit::NothingRan,
            message: message.into(),
        }
    }
}

/// Problems that are reported together, so that none hides another.
#[derive(Debug, Default)]
pub struct Problems {
    failures: Vec<Failure>,
}

impl Problems {
    /// Returns the value of `result`, or stores its error.
    pub fn take<T>(&mut self, result: Result<T, impl Into<Failure>>) -> Option<T> {
        result
            .map_err(|error| self.failures.push(error.into()))
            .ok()
    }

    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// Combines all problems, without duplicates. The exit code is that of the first one.
    pub fn into_failure(self) -> Failure {
        let exit = self
            .failures
            .first()
            .map_or(Exit::Usage, |first| first.exit);
        let mut lines: Vec<Notice> = Vec::new();
        for failure in self.failures {
            if !lines.contains(&failure.message) {
                lines.push(failure.message);
            }
        }
        Failure {
            exit,
            message: Notice::lines(lines),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error.kind() {
            RunErrorKind::Input => Self::usage(error.notice()),
            _ => Self::nothing_ran(error.notice()),
        }
    }
}
