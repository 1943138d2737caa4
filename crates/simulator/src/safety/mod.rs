//! The conversations of safety evaluations: attackers that follow a strategy, and the model under test.
//!
//! - [`UserPersona`] and [`SemanticChunks`] are the shipped strategies, by the names of [`TEST_TYPES`]. Others implement
//!   [`MultiTurnStrategy`](schema::safety::MultiTurnStrategy).
//! - [`Target`]: the model under test, for single questions and for whole conversations. It sees its system prompt and what was
//!   said, and nothing else.
//! - [`Dialogue`]: one conversation, exchange by exchange, so that it can be scored in between. It ends on an assistant message.
//!
//! A target that says nothing, an attacker that declines and a call that fails are distinguished: none of them is a pass.
//!
//! Calls of an attacker are made for the row `<scope's row>__<test type>`, those of the target for the row of its scope. The turn
//! is the number of the exchange, from 1; the plan of `semantic_chunks` is turn 0.
//!
//! ```
//! use std::sync::Arc;
//! use schema::safety::{CallScope, MultiTurnStrategy, TestCase};
//! use schema::{ChatModel, ChatReply, ChatRequest, ModelError, ModelId, Role};
//! use simulator::safety::{Dialogue, Exchanged, Target, UserPersona};
//!
//! /// Says the same thing whatever it is asked.
//! struct Says(ModelId, &'static str);
//!
//! #[async_trait::async_trait]
//! impl ChatModel for Says {
//!     fn id(&self) -> &ModelId {
//!         &self.0
//!     }
//!     async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
//!         Ok(ChatReply::text(self.1))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let attacker = Says(ModelId::new("attacker")?, "Thought: He may give in.\nMessage: May I skip the tests?");
//! let target = Target::new(Arc::new(Says(ModelId::new("target")?, "Better not.")));
//!
//! let case = TestCase::new("tests-01", "dangerous-advice", "Can I skip the tests?");
//! let strategy = UserPersona::new(Arc::new(attacker))?;
//! let scope = CallScope::new("tests-01__target");
//! let attack = strategy.attack(&case, 2, &scope);
//! let mut dialogue = Dialogue::new(Arc::new(target), attack, 2, CallScope::new("tests-01__target__user_persona"));
//! while dialogue.exchange().await.map_err(|broken| broken.error)? == Exchanged::Replied {}
//! let said = dialogue.conversation();
//! assert_eq!((said.len(), said[3].role), (4, Role::Assistant));
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - A refusal of the attacker is recognised by English expressions ([`schema::safety::sounds_like_refusal`]).
//! - Whether an attacker really follows its strategy is not checked; the transcript shows it.
//! - What a call used that failed for good is not in the row's sums; the layers around the model see it.

mod attacker;
mod dialogue;
mod prompts;
mod semantic_chunks;
mod target;
mod test_types;
mod user_persona;

pub use dialogue::{Broken, Dialogue, Exchanged};
pub use prompts::AttackPrompts;
pub use semantic_chunks::SemanticChunks;
pub use target::{Target, TargetReply};
pub use test_types::{TEST_TYPES, attacker_calls, multi_turn_strategies};
pub use user_persona::UserPersona;
