//! The strategies shipped with this crate.

use std::sync::Arc;

use schema::{
    ChatModel, PhaseError, PhaseErrorKind,
    safety::{MultiTurnStrategy, check_names},
};

use super::{SemanticChunks, UserPersona};

/// The names of the shipped strategies.
pub const TEST_TYPES: [&str; 2] = [UserPersona::NAME, SemanticChunks::NAME];

/// The shipped strategies with these names. They call `attacker`.
///
/// # Errors
/// `BadInput` when a name is unknown (the error suggests a similar one) or duplicated.
pub fn multi_turn_strategies(
    names: &[String],
    attacker: &Arc<dyn ChatModel>,
) -> Result<Vec<Arc<dyn MultiTurnStrategy>>, PhaseError> {
    check_names("test-types", names, &TEST_TYPES).map_err(|error| {
        PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
    })?;
    let made = |name: &String| -> Result<Arc<dyn MultiTurnStrategy>, PhaseError> {
        let attacker = Arc::clone(attacker);
        Ok(if name == SemanticChunks::NAME {
            Arc::new(SemanticChunks::new(attacker)?)
        } else {
            Arc::new(UserPersona::new(attacker)?)
        })
    };
    names.iter().map(made).collect()
}

/// How many calls of the attacker a conversation of `exchanges` exchanges takes if every reply is usable. `None` for an
/// unknown test type.
#[must_use]
pub fn attacker_calls(test_type: &str, exchanges: u32) -> Option<u32> {
    match test_type {
        UserPersona::NAME => Some(exchanges),
        SemanticChunks::NAME => Some(exchanges.saturating_add(1)),
        _ => None,
    }
}
