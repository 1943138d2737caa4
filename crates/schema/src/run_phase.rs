//! The phases of a run, by name.

/// One phase of a run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Generates metrics from the description.
    GenMetrics,
    /// Generates scenarios from the metrics.
    GenScenarios,
    /// Simulates conversations from the scenarios.
    Simulate,
    /// Scores the conversations.
    Evaluate,
    /// Summarises the scores.
    Aggregate,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [
        Self::GenMetrics,
        Self::GenScenarios,
        Self::Simulate,
        Self::Evaluate,
        Self::Aggregate,
    ];

    /// The name in files: `gen_metrics`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenMetrics => "gen_metrics",
            Self::GenScenarios => "gen_scenarios",
            Self::Simulate => "simulate",
            Self::Evaluate => "evaluate",
            Self::Aggregate => "aggregate",
        }
    }

    /// The name on the command line: `gen-metrics`.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::GenMetrics => "gen-metrics",
            Self::GenScenarios => "gen-scenarios",
            other => other.as_str(),
        }
    }
}
