//! Programs that take the place of a phase's prompts.

use std::sync::Arc;

use serde_json::Value;

/// What is known of a program that is sent the parameters of a phase's request in the place of a prompt: see `docs/any-language.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseProgram {
    /// What it does.
    pub kind: ProgramKind,
    /// What it wants to see beyond the default.
    pub wants: Arc<[String]>,
    /// Its name, version and settings, for the manifest and the resume keys.
    pub fingerprint: Arc<Value>,
}

/// What a program does in the place of a model with a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// It judges conversations.
    Judge,
    /// It writes the simulated user's messages.
    Simulator,
    /// It answers the calls of simulated tools.
    Tools,
}

impl ProgramKind {
    /// Its name in a program's hello.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Simulator => "simulator",
            Self::Tools => "tools",
        }
    }

    /// The kind with this name in a program's hello.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "judge" => Some(Self::Judge),
            "simulator" => Some(Self::Simulator),
            "tools" => Some(Self::Tools),
            _ => None,
        }
    }

    /// The method that it is called with.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Simulator => "next_message",
            Self::Tools => "answer",
        }
    }
}
