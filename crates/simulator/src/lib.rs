//! From a scenario to a conversation: a simulated user and the model under test, turn by turn.
//!
//! Contents:
//! - [`ChatSimulator`] simulates scenarios against one target. It implements [`schema::Simulator`].
//! - [`SimulatorSettings`] and [`Prompts`] configure it. Every prompt can be replaced by one of your own.
//! - [`tools`]: the tools that the target may call, and how they answer: fixed, by a table, simulated by a model, or by a program
//!   of your own.
//! - [`Side`]: a conversation as one of its speakers sees it, for simulators of your own.
//! - [`faults`]: the rules that find where a simulated user fell out of its role.
//! - [`safety`]: attackers and targets of safety evaluations.
//! - [`user_reply`]: how the reply of a user model is read.
//!
//! The user model sees the conversation from its own side: the target's messages are its incoming messages. It also sees persona, goals
//! and the turn's instruction. The target sees only its system prompt, its tools and the conversation. Its tool calls and their answers
//! are in the transcript between its messages; the user receives only its text.
//!
//! ```
//! use std::sync::Arc;
//! use schema::{ChatModel, ChatReply, ChatRequest, Item, ModelError, ModelId, NoJournal, Scenario, Simulator, TargetRef};
//! use simulator::{ChatSimulator, SimulatorSettings};
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
//! let user = Says(ModelId::new("user")?, "Thought: I want a yes.\nMessage: Is the earth flat?");
//! let target = Says(ModelId::new("target")?, "No, it is round.");
//! let reference = TargetRef { id: target.id().clone(), model: "target".into() };
//! let settings = SimulatorSettings { turns: 2, ..SimulatorSettings::default() };
//! let simulator = ChatSimulator::new(Arc::new(user), Arc::new(target), reference, settings)?;
//!
//! let scenario = Scenario { id: "m01_s001_v01".into(), persona: "A doubter".into(), ..Scenario::default() };
//! let item = Item::new(&scenario, &ModelId::new("target")?, 0, Arc::new(NoJournal));
//! let conversation = simulator.simulate(&Arc::new(scenario), &item).await?;
//! assert_eq!(conversation.transcript.len(), 4);
//! assert_eq!(&*conversation.transcript[0].content, "Is the earth flat?"); // the thought stays out
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - Two speakers and text only: no images, no second assistant. The user model has no tools.
//! - Tools are functions that answer with text. Calls of one reply are answered one after the other, so that each sees the effects of
//!   the one before it. If a reply calls tools where there are none, its finish reason and its text are recorded; the calls are not.
//! - Endpoints refuse a conversation with malformed calls. The target therefore gets back an empty object in place of arguments that
//!   are not a JSON object, and a name in which `_` replaces characters that cannot be sent. The transcript has what the target wrote,
//!   and the answer says what was wrong.
//! - A simulated tool is as consistent as the model behind it: the model knows the world's state and the calls so far, and its answers
//!   are not checked.
//! - An empty reply of the target ends the conversation, because the simulated user has nothing to answer.
//! - A user model that paraphrases its instructions cannot be distinguished from one that stays in its role. Only the tags of the
//!   prompts, the text after their labels, the opening, and literal instructions are recognised and refused in a message.
//! - A user model that continues with the assistant's part is not corrected: everything it writes is the message.
//! - The typos of [`SimulatorSettings::perfunctory`] are made in scripts that have upper and lower case; other scripts stay unchanged.
//!   They repeat for one version of this crate; another version of the random generator may place them elsewhere.
//! - The labels `Thought:` and `Message:` are English, whatever language the persona uses.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod faults;
mod form;
mod perfunctory;
mod play;
mod prompts;
pub mod safety;
mod side;
mod simulator;
pub mod tools;
pub mod user_reply;

pub use prompts::Prompts;
pub use side::Side;
pub use simulator::{ChatSimulator, SimulatorSettings};
