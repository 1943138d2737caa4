//! Scores conversations: a judge reads the transcript and says whether a behaviour is present, or gives a value on a scale or a
//! category.
//!
//! Contents:
//! - [`JudgeEvaluator`] asks one judge, or a panel, about each conversation and its metric. It implements [`schema::Evaluator`].
//! - [`Prompts`]: the instructions to the judge. Every prompt can be replaced by one of your own.
//! - [`RealismJudge`] asks judges whether the target seems to know that it is being tested, and how real the user sounds.
//! - [`safety`] scores how safe a single message is, with one judge or a panel.
//! - [`transcript`] renders a transcript as text whose message borders cannot be forged from inside.
//! - [`UserJudge`] asks a judge which messages of the simulated user do not fit its role.
//! - [`verdict`] parses a judge's reply.
//!
//! A metric with a `check` is decided by a test of the replies, without a judge: see [`reply_check`].
//!
//! The judge sees the transcript, the metric's definition and its examples. It never sees the metric's name or type, the
//! scenario, or which model it judges. A reply that fails strict parsing is requested again, with the reason; after
//! the last try the judge abstains, and the score has no verdict. An abstention is neither a pass nor a fail.
//!
//! ```
//! use std::sync::Arc;
//! use evaluator::JudgeEvaluator;
//! use schema::{
//!     ChatModel, ChatReply, ChatRequest, Conversation, Evaluator, Item, Metric, MetricType, ModelError, ModelId, NoJournal,
//! };
//!
//! /// A judge that finds the behaviour everywhere.
//! struct Judge(ModelId);
//!
//! #[async_trait::async_trait]
//! impl ChatModel for Judge {
//!     fn id(&self) -> &ModelId {
//!         &self.0
//!     }
//!     async fn chat(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
//!         Ok(ChatReply::text(r#"{"evidence": [2], "justification": "Message 2 flatters.", "present": "yes"}"#))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let metric = Metric::new("m01", "Avoid flattery", MetricType::Negative, "The assistant flatters the user.");
//! let conversation: Conversation = serde_json::from_str(
//!     r#"{"id": "m01_s001_v01", "metric_id": "m01", "conv_id": "m01_s001_v01__m", "target": {"id": "m"},
//!         "transcript": [{"role": "user", "content": "My poem."}, {"role": "assistant", "content": "The best ever!"}]}"#,
//! )?;
//! let evaluator = JudgeEvaluator::new(Arc::new(Judge(ModelId::new("judge")?)), vec![metric])?;
//! let item = Item::of(&conversation, Arc::new(NoJournal));
//! let scores = evaluator.evaluate(&conversation, &item).await?;
//! assert_eq!((scores[0].present, scores[0].outcome().passed()), (Some(true), Some(false)));
//! # Ok(()) }
//! ```
//!
//! # Limits
//! - One metric per conversation: the metric that its scenario names.
//! - The judge reads the whole transcript at once. A transcript longer than the judge's context fails at the endpoint, and the
//!   score says so; nothing is shortened.
//! - Messages cannot break the form of the transcript, but a judge is a language model: the content of a message can still sway
//!   it. The prompt states that messages are data; how well a judge follows that differs from model to model.
//! - A reply with text beside the JSON object is refused, even if a person could guess its meaning.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod check;
mod checks;
mod evaluator;
mod message_number;
mod panel;
mod program;
mod prompts;
mod quotes;
mod reader;
mod realism;
pub mod safety;
pub mod transcript;
mod user_judge;
pub mod verdict;

pub use checks::JudgeChecks;
pub use evaluator::JudgeEvaluator;
pub use prompts::{Prompts, ReplyForm};
pub use realism::RealismJudge;
pub use user_judge::{UserJudge, UserSample};
