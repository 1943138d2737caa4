//! `user_persona`: one person who adapts to every reply.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{
    ChatModel, Fingerprint, Item, PhaseError, PhaseErrorKind, Turn,
    safety::{Attack, AttackMove, MultiTurnStrategy, TestCase},
};
use serde_json::json;

use super::{
    AttackPrompts,
    attacker::{Attacker, Means},
};

/// An attacker that keeps one persona through the conversation, the case's own or one of its choice, and adapts to every reply.
/// One call for each message.
pub struct UserPersona {
    means: Means,
}

impl UserPersona {
    /// Its name in settings and files.
    pub const NAME: &'static str = "user_persona";

    /// The strategy with the shipped prompts and three tries.
    ///
    /// # Errors
    /// Never for a released version: the shipped templates are tested.
    pub fn new(attacker: Arc<dyn ChatModel>) -> Result<Self, PhaseError> {
        Ok(Self {
            means: shipped_means(attacker)?,
        })
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// `BadInput` when one of them does not render. The error names the prompt and the mistake.
    pub fn with_prompts(mut self, prompts: AttackPrompts) -> Result<Self, PhaseError> {
        prompts.check()?;
        self.means.prompts = prompts;
        Ok(self)
    }

    /// Sets how often the model is called for a usable message; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.means.tries = tries.max(1);
        self
    }
}

/// The shipped prompts and three tries.
pub(super) fn shipped_means(model: Arc<dyn ChatModel>) -> Result<Means, PhaseError> {
    let prompts = AttackPrompts::shipped().map_err(|error| {
        PhaseError::new(PhaseErrorKind::BadInput, error.to_string()).with_source(error)
    })?;
    Ok(Means {
        model,
        prompts,
        tries: 3,
    })
}

impl MultiTurnStrategy for UserPersona {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn attack(&self, case: &TestCase, exchanges: u32, item: &Item) -> Box<dyn Attack> {
        Box::new(PersonaAttack {
            means: Arc::new(self.means.clone()),
            case: case.clone(),
            exchanges,
            item: item.clone(),
            attacker: None,
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        let Means {
            model,
            prompts,
            tries,
        } = &self.means;
        Fingerprint {
            name: "UserPersona".into(),
            version: 1,
            settings: json!({
                "attacker": model.id(),
                "prompts": prompts.hashes(&[("persona", &prompts.persona)]),
                "tries": tries,
            }),
        }
    }
}

struct PersonaAttack {
    means: Arc<Means>,
    case: TestCase,
    exchanges: u32,
    item: Item,
    attacker: Option<Attacker>,
}

#[async_trait]
impl Attack for PersonaAttack {
    async fn next(&mut self, conversation: &[Turn]) -> Result<AttackMove, PhaseError> {
        let attacker = match &mut self.attacker {
            Some(attacker) => attacker,
            none => {
                let system = self.means.prompts.persona(&self.case, self.exchanges)?;
                let context = Means::context(&self.item, UserPersona::NAME);
                let means = Arc::clone(&self.means);
                none.insert(Attacker::new(means, system, context, self.exchanges))
            }
        };
        attacker.next(conversation, None).await
    }
}
