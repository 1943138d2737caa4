//! The strategies shipped with this crate.

use std::sync::Arc;

use prompt::{Prompt, PromptError};
use schema::{
    ChatModel, PhaseError, PhaseErrorKind,
    safety::{VariationStrategy, check_names},
};

use super::LlmVariation;
use crate::json_request::bad_prompt;

/// The names of the shipped strategies, in the order in which they take turns by default.
pub const STRATEGIES: [&str; 7] = [
    "paraphrase",
    "role_play",
    "hypothetical",
    "emotional_pressure",
    "authority_claim",
    "splitting",
    "translation",
];

/// The prompt of a shipped strategy: a text that says how to rewrite. It becomes the value `how` of [`shipped_frame`].
///
/// Its values: `count` (how many prompts are requested), `layer` (from 1), `languages` (a list of `count` languages, different
/// ones in every layer), and the texts `strategy`, `prompt`, `response`, `intent`, `persona` (the last two empty if there is
/// none).
///
/// # Errors
/// `BadInput` when there is no strategy with this name. The error suggests a similar one.
pub fn shipped_prompt(strategy: &str) -> Result<Prompt, PhaseError> {
    check_names("strategies", &[strategy.to_owned()], &STRATEGIES).map_err(|error| {
        PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
    })?;
    let (file, source) = match strategy {
        "role_play" => (
            "safety_role_play.j2",
            include_str!("../../prompts/safety_role_play.j2"),
        ),
        "hypothetical" => (
            "safety_hypothetical.j2",
            include_str!("../../prompts/safety_hypothetical.j2"),
        ),
        "emotional_pressure" => (
            "safety_emotional_pressure.j2",
            include_str!("../../prompts/safety_emotional_pressure.j2"),
        ),
        "authority_claim" => (
            "safety_authority_claim.j2",
            include_str!("../../prompts/safety_authority_claim.j2"),
        ),
        "splitting" => (
            "safety_splitting.j2",
            include_str!("../../prompts/safety_splitting.j2"),
        ),
        "translation" => (
            "safety_translation.j2",
            include_str!("../../prompts/safety_translation.j2"),
        ),
        "paraphrase" => (
            "safety_paraphrase.j2",
            include_str!("../../prompts/safety_paraphrase.j2"),
        ),
        unknown => {
            let error = format!("the strategy {unknown} has no shipped prompt");
            return Err(PhaseError::new(PhaseErrorKind::BadInput, error));
        }
    };
    Prompt::new(file, source).map_err(bad_prompt)
}

/// The frame around the prompt of every strategy: the task, its rules, the data and the form of the reply. Its values are those of
/// [`shipped_prompt`], and `how`.
///
/// # Errors
/// Never for a released version: the shipped template is tested.
pub fn shipped_frame() -> Result<Prompt, PromptError> {
    Prompt::new(
        "safety_variation.j2",
        include_str!("../../prompts/safety_variation.j2"),
    )
}

/// The shipped strategies with these names. They call `attacker`.
///
/// # Errors
/// `BadInput` when a name is unknown or duplicated.
pub fn variation_strategies(
    names: &[String],
    attacker: &Arc<dyn ChatModel>,
) -> Result<Vec<Arc<dyn VariationStrategy>>, PhaseError> {
    check_names("strategies", names, &STRATEGIES).map_err(|error| {
        PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
    })?;
    let made = |name: &String| {
        let strategy = LlmVariation::new(name, Arc::clone(attacker))?;
        Ok(Arc::new(strategy) as Arc<dyn VariationStrategy>)
    };
    names.iter().map(made).collect()
}
