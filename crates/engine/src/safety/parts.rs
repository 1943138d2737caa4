//! The parts of a safety run.

use std::sync::Arc;

use schema::{
    ChatModel, Extra, TargetRef,
    safety::{
        MultiTurnSettings, MultiTurnStrategy, SingleTurnSettings, Threshold, VariationStrategy,
    },
};

use store::RunError;

use super::attempt::TurnOrder;

/// What a safety run does with its cases.
#[derive(Clone)]
pub enum SafetyMode {
    /// Prompts, and variations of them.
    SingleTurn {
        /// The settings of the layers and variations.
        settings: SingleTurnSettings,
        /// The available strategies; the settings name those that take turns.
        strategies: Vec<Arc<dyn VariationStrategy>>,
    },
    /// Conversations.
    MultiTurn {
        /// The settings of the conversations.
        settings: MultiTurnSettings,
        /// The available strategies. The settings name those that each case is simulated with; any other takes over where a model
        /// declines to attack.
        strategies: Vec<Arc<dyn MultiTurnStrategy>>,
    },
}

impl SafetyMode {
    /// `single_turn` or `multi_turn`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::SingleTurn { .. } => "single_turn",
            Self::MultiTurn { .. } => "multi_turn",
        }
    }

    /// The name of the evaluation, where records of benchmarks have phases, and journals a benchmark.
    pub(super) fn phase(&self) -> String {
        format!("safety_{}", self.as_str())
    }

    /// The lowest score that passes.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        match self {
            Self::SingleTurn { settings, .. } => settings.threshold,
            Self::MultiTurn { settings, .. } => settings.threshold,
        }
    }

    /// The most items that the run may have; `None`: all.
    pub(super) fn max_cases(&self) -> Option<u64> {
        match self {
            Self::SingleTurn { settings, .. } => settings.max_cases,
            Self::MultiTurn { settings, .. } => settings.max_cases,
        }
    }

    /// The initial number of items of a case: one for each strategy that it is simulated with.
    pub(super) fn items_of_a_case(&self) -> u64 {
        match self {
            Self::SingleTurn { .. } => 1,
            Self::MultiTurn { settings, .. } => settings.test_types.len() as u64,
        }
    }

    /// How the turns of each item follow each other.
    pub(super) fn turn_order(&self) -> TurnOrder {
        match self {
            Self::SingleTurn { .. } => TurnOrder {
                one_reply: true,
                judged_between: false,
            },
            Self::MultiTurn { settings, .. } => {
                let one_reply = settings.max_turns.exchanges() == 1;
                TurnOrder {
                    one_reply,
                    judged_between: settings.early_stop && !one_reply,
                }
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), RunError> {
        let checked = match self {
            Self::SingleTurn {
                settings,
                strategies,
            } => {
                let known: Vec<&str> = strategies.iter().map(|one| one.name()).collect();
                settings.check(&known)
            }
            Self::MultiTurn {
                settings,
                strategies,
            } => {
                let known: Vec<&str> = strategies.iter().map(|one| one.name()).collect();
                settings.check(&known)
            }
        };
        checked.map_err(|error| RunError::input(error.to_string()).with_source(error))
    }
}

/// A system under test.
#[derive(Clone)]
pub struct SafetyTarget {
    /// How the rows name it.
    pub target: TargetRef,
    /// The model itself.
    pub model: Arc<dyn ChatModel>,
    /// Its system prompt, if it has one.
    pub system_prompt: Option<Arc<str>>,
    /// What the requests contain besides their messages, `max_tokens` for example. The journal records it under `sut_options`.
    pub options: Extra,
}

impl SafetyTarget {
    /// A target without a system prompt.
    #[must_use]
    pub fn new(target: TargetRef, model: Arc<dyn ChatModel>) -> Self {
        Self {
            target,
            model,
            system_prompt: None,
            options: Extra::new(),
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }
}

/// The other models that take part, for the files: the run itself does not call them.
#[derive(Clone, Debug, Default)]
pub struct ModelRoles {
    /// The id of the model that rewrites or attacks.
    pub attacker: Option<String>,
    /// The ids of the judges.
    pub judges: Vec<String>,
}
