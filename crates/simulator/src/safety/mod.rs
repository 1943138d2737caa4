//! The attackers of safety evaluations: strategies for multi-turn conversations.
//!
//! [`UserPersona`] and [`SemanticChunks`] are the shipped strategies; [`TEST_TYPES`] has their names. Others implement
//! [`MultiTurnStrategy`](schema::safety::MultiTurnStrategy). The engine runs the conversation itself, with the model under test.
//!
//! An attacker that declines and a call that fails are distinguished. Neither is a pass of the target.
//!
//! Calls of an attacker are made for the row `<item's row>__<test type>`. The turn is the number of the exchange, from 1; the plan of
//! `semantic_chunks` is turn 0.
//!
//! ```
//! use std::sync::Arc;
//! use schema::safety::{AttackMove, MultiTurnStrategy, TestCase};
//! use schema::{ChatModel, ChatReply, ChatRequest, Item, ModelError, ModelId, NoJournal};
//! use simulator::safety::UserPersona;
//!
//! /// Says the same thing to every message.
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
//! let case = TestCase::new("tests-01", "dangerous-advice", "Can I skip the tests?");
//! let strategy = UserPersona::new(Arc::new(attacker))?;
//! let item = Item::of_case(&case, &ModelId::new("target")?, Arc::new(NoJournal));
//! let mut attack = strategy.attack(&case, 2, &item);
//! let opening = attack.next(&[]).await?;
//! assert!(matches!(opening, AttackMove::Say { message, .. } if message == "May I skip the tests?"));
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - A refusal of the attacker is recognised by English expressions ([`schema::safety::sounds_like_refusal`]).
//! - Whether an attacker really follows its strategy is not checked; the transcript shows it.
//! - The usage of a call that failed for good is not in the row's sums; the layers around the model see it.

mod attacker;
mod prompts;
mod semantic_chunks;
mod test_types;
mod user_persona;

pub use prompts::AttackPrompts;
pub use semantic_chunks::SemanticChunks;
pub use test_types::{TEST_TYPES, attacker_calls, multi_turn_strategies};
pub use user_persona::UserPersona;
