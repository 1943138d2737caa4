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
    let made = names.iter().map(|name| strategy(name, attacker));
    made.collect()
}

/// The strategy with this name.
fn strategy(
    name: &str,
    attacker: &Arc<dyn ChatModel>,
) -> Result<Arc<dyn MultiTurnStrategy>, PhaseError> {
    let attacker = Arc::clone(attacker);
    match name {
        UserPersona::NAME => Ok(Arc::new(UserPersona::new(attacker)?)),
        SemanticChunks::NAME => Ok(Arc::new(SemanticChunks::new(attacker)?)),
        _ => Err(PhaseError::new(
            PhaseErrorKind::BadInput,
            format!("no strategy for the test type `{name}`"),
        )),
    }
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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use schema::{ChatReply, ChatRequest, ModelError, ModelId};

    use super::*;

    struct Silent(ModelId);

    #[async_trait]
    impl ChatModel for Silent {
        fn id(&self) -> &ModelId {
            &self.0
        }

        async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
            Ok(ChatReply::text(""))
        }
    }

    #[test]
    fn each_test_type_has_the_strategy_of_its_name_and_no_other_has_one() {
        let attacker: Arc<dyn ChatModel> = Arc::new(Silent(ModelId::new("attacker").unwrap()));
        for name in TEST_TYPES {
            assert_eq!(strategy(name, &attacker).unwrap().name(), name);
            assert!(attacker_calls(name, 3).is_some());
        }
        let error = strategy("crescendo", &attacker).err().unwrap();
        assert_eq!(error.kind(), PhaseErrorKind::BadInput);
        assert!(error.to_string().contains("crescendo"), "{error}");
    }
}
