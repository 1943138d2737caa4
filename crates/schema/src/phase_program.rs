//! Programs that take the place of a phase's prompts.

use std::sync::Arc;

use serde_json::Value;

use crate::{Purpose, ToolSpec};

/// What is known of a program that is sent the parameters of a phase's request in the place of a prompt: see `docs/any-language.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseProgram {
    /// What it does.
    pub kind: ProgramKind,
    /// What it wants to see beyond the default.
    pub wants: Arc<[String]>,
    /// Its name, version and settings, for the manifest and the resume keys.
    pub fingerprint: Arc<Value>,
    /// The tools that it brings. Empty: it answers those of benchmarks.
    pub tools: Arc<[ToolSpec]>,
}

impl PhaseProgram {
    /// Whether one request to a judge has all metrics of a conversation, as its hello says.
    #[must_use]
    pub fn is_per_conversation(&self) -> bool {
        self.fingerprint
            .get("per")
            .is_some_and(|per| per == "conversation")
    }
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
    /// It writes metrics, scenarios, or both.
    Generator,
}

impl ProgramKind {
    /// Its name in a program's hello.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Simulator => "simulator",
            Self::Tools => "tools",
            Self::Generator => "generator",
        }
    }

    /// The kind with this name in a program's hello.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "judge" => Some(Self::Judge),
            "simulator" => Some(Self::Simulator),
            "tools" => Some(Self::Tools),
            "generator" | "metrics" | "scenarios" => Some(Self::Generator),
            _ => None,
        }
    }

    /// The method that it is called with for this purpose.
    #[must_use]
    pub fn method(self, purpose: Purpose) -> &'static str {
        match (self, purpose) {
            (Self::Judge, _) => "judge",
            (Self::Simulator, _) => "next_message",
            (Self::Tools, _) => "answer",
            (Self::Generator, Purpose::GenScenarios) => "generate_scenarios",
            (Self::Generator, _) => "generate_metrics",
        }
    }
}
