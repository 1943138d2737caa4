//! What a safety run is put together from.

use std::sync::Arc;

use schema::{
    ChatModel, TargetRef,
    safety::{
        MultiTurnSettings, MultiTurnStrategy, SingleTurnSettings, Threshold, VariationStrategy,
    },
};

use crate::error::PipelineError;

/// What a safety run does with its cases.
#[derive(Clone)]
pub enum SafetyMode {
    /// Prompts, and variations of them.
    SingleTurn {
        /// How.
        settings: SingleTurnSettings,
        /// The strategies there are; the settings name those that take turns.
        strategies: Vec<Arc<dyn VariationStrategy>>,
    },
    /// Conversations.
    MultiTurn {
        /// How.
        settings: MultiTurnSettings,
        /// The strategies there are. The settings name those that each case is played with; any other stands in where a model
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

    /// The score from which a response passes.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        match self {
            Self::SingleTurn { settings, .. } => settings.threshold,
            Self::MultiTurn { settings, .. } => settings.threshold,
        }
    }

    pub(super) fn check(&self) -> Result<(), PipelineError> {
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
        checked.map_err(|error| PipelineError::input(error.to_string()).with_source(error))
    }
}

/// A system under test.
#[derive(Clone)]
pub struct SafetyTarget {
    /// What the rows say of it.
    pub target: TargetRef,
    /// The model itself.
    pub model: Arc<dyn ChatModel>,
    /// Its system prompt, where it has one.
    pub system_prompt: Option<Arc<str>>,
}

impl SafetyTarget {
    /// A target without a system prompt.
    #[must_use]
    pub fn new(target: TargetRef, model: Arc<dyn ChatModel>) -> Self {
        Self {
            target,
            model,
            system_prompt: None,
        }
    }

    /// With this system prompt.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }
}

/// Who else takes part, for the files: the run does not call them itself.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    /// The id of the model that rewrites or attacks.
    pub attacker: Option<String>,
    /// The ids of the judges.
    pub judges: Vec<String>,
}
